-- changes: each file belongs to one result, and sizes add up
-- rewrites: archive_result, snapshot

-- A published file belongs to one result: the last that wrote it. Until now each hook of a plugin named all that was in
-- the plugin's folder, and earlier attempts went on naming what later ones had replaced. The one that ended last named
-- what is in place.
with shared as (
  select snapshot_id, plugin from archive_result where output_files <> '{}' group by 1, 2 having count(*) > 1
), aged as (
  select id, row_number() over (partition by snapshot_id, plugin order by end_ts desc, id desc) as age
  from archive_result join shared using (snapshot_id, plugin) where output_files <> '{}'
)
update archive_result r set output_files = '{}', output_size = 0 from aged where aged.id = r.id and aged.age > 1;

update snapshot s set output_size = made.size
from (select snapshot_id, sum(output_size) as size from archive_result group by 1) made
where made.snapshot_id = s.id and s.output_size <> made.size;
