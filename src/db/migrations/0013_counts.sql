-- changes: counts and lists answer at once, however large the archive is; a part of a URL finds it
-- rewrites: snapshot
-- reads: crawl, snapshot, archive_result, snapshot_tag

-- What people ask answers at once, however much there is: counts are kept, and lists walk an index.

-- Changes of counts, appended by whoever makes them, so that nobody waits for anybody; the leader adds them up now and
-- then (db/counts.ts).
create table row_change (
  model    text not null,
  crawl_id uuid,                                                    -- of pages
  status   text not null,
  rows     bigint not null,
  bytes    bigint not null default 0
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index row_change_crawl on row_change (crawl_id) where crawl_id is not null;
-- It has no key, and a publication of all tables must not forbid deletions.
alter table row_change replica identity full;

create table row_total (
  model  text not null,
  status text not null,
  rows   bigint not null,
  bytes  bigint not null default 0,
  primary key (model, status)
);
create table crawl_total (
  crawl_id uuid not null,
  status   text not null,
  pages    bigint not null,
  primary key (crawl_id, status)
);

-- How many rows each model has in each status, and their bytes: the sum. Of results only those at their end: few are
-- not.
create view row_count as
  select model, status, rows, bytes from row_total union all select model, status, rows, bytes from row_change;
-- How many pages each crawl has in each status: the sum.
create view crawl_pages as
  select crawl_id, status, pages from crawl_total
  union all select crawl_id, status, rows from row_change where crawl_id is not null;

create function count_crawls() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from row_change where model = 'crawl';
    delete from row_total where model = 'crawl';
  elsif tg_op = 'INSERT' then
    insert into row_change (model, status, rows) select 'crawl', status, count(*) from changed group by status;
  elsif tg_op = 'DELETE' then
    insert into row_change (model, status, rows) select 'crawl', status, -count(*) from changed group by status;
  else
    insert into row_change (model, status, rows) values ('crawl', old.status, -1), ('crawl', new.status, 1);
  end if;
  return null;
end $$;
create trigger crawls_added after insert on crawl referencing new table as changed for each statement
  execute function count_crawls();
create trigger crawls_deleted after delete on crawl referencing old table as changed for each statement
  execute function count_crawls();
create trigger crawls_truncated after truncate on crawl for each statement execute function count_crawls();
-- Changes by row, and only where a count changes: most updates are of leases, and must cost nothing here.
create trigger crawl_changed after update on crawl for each row when (old.status <> new.status)
  execute function count_crawls();

create function count_pages() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from row_change where model = 'snapshot';
    delete from row_total where model = 'snapshot';
    delete from crawl_total;
  elsif tg_op = 'INSERT' then
    insert into row_change (model, crawl_id, status, rows, bytes)
    select 'snapshot', crawl_id, status, count(*), sum(output_size) from changed group by crawl_id, status;
  elsif tg_op = 'DELETE' then
    insert into row_change (model, crawl_id, status, rows, bytes)
    select 'snapshot', crawl_id, status, -count(*), -sum(output_size) from changed group by crawl_id, status;
  else
    insert into row_change (model, crawl_id, status, rows, bytes)
    values ('snapshot', old.crawl_id, old.status, -1, -old.output_size),
      ('snapshot', new.crawl_id, new.status, 1, new.output_size);
  end if;
  return null;
end $$;
create trigger pages_added after insert on snapshot referencing new table as changed for each statement
  execute function count_pages();
create trigger pages_deleted after delete on snapshot referencing old table as changed for each statement
  execute function count_pages();
create trigger pages_truncated after truncate on snapshot for each statement execute function count_pages();
create trigger page_changed after update on snapshot for each row
  when (old.status <> new.status or old.output_size <> new.output_size or old.crawl_id <> new.crawl_id)
    execute function count_pages();

create function count_results() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from row_change where model = 'archive_result';
    delete from row_total where model = 'archive_result';
  elsif tg_op = 'INSERT' then
    insert into row_change (model, status, rows)
    select 'archive_result', status, count(*) from changed where end_ts is not null group by status;
  elsif tg_op = 'DELETE' then
    insert into row_change (model, status, rows)
    select 'archive_result', status, -count(*) from changed where end_ts is not null group by status;
  else
    insert into row_change (model, status, rows)
    select 'archive_result', status, rows
    from (values (old.status, old.end_ts, -1), (new.status, new.end_ts, 1)) as change (status, end_ts, rows)
      where end_ts is not null;
  end if;
  return null;
end $$;
create trigger results_added after insert on archive_result referencing new table as changed for each statement
  execute function count_results();
create trigger results_deleted after delete on archive_result referencing old table as changed for each statement
  execute function count_results();
create trigger results_truncated after truncate on archive_result for each statement execute function count_results();
create trigger result_changed after update on archive_result for each row
  when (old.status <> new.status and (old.end_ts is not null or new.end_ts is not null))
    execute function count_results();

-- The triggers keep writers out until the end of this migration: nothing is missed, nothing counted twice.
insert into crawl_total select crawl_id, status, count(*) from snapshot group by 1, 2;
insert into row_total
  select 'crawl', status, count(*), 0 from crawl group by status
  union all select 'snapshot', status, count(*), sum(output_size) from snapshot group by status
  union all select 'archive_result', status, count(*), 0 from archive_result where end_ts is not null group by status;

-- Lists go by id, newest first: ids are made in the order of time.
create index crawl_in_order on crawl (status, id);
create index snapshot_in_order on snapshot (status, id);
create index snapshot_of_crawl on snapshot (crawl_id, id);
create index archive_result_in_order on archive_result (status, id);
create index archive_result_plugin on archive_result (plugin, id);
create index snapshot_tag_tag on snapshot_tag (tag_id, snapshot_id);
drop index crawl_status, snapshot_status, archive_result_status;

-- URLs as they are searched by a part. Beside the pages, whose rows change often: such an index costs the most.
create table page_url (
  snapshot_id uuid primary key,
  url         text not null                                        -- in lower case
);
insert into page_url select id, lower(url) from snapshot;

create function keep_page_urls() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from page_url;
  elsif tg_op = 'INSERT' then
    insert into page_url select id, lower(url) from changed;
  elsif tg_op = 'DELETE' then
    delete from page_url where snapshot_id = any(array(select id from changed));
  else
    update page_url set snapshot_id = new.id, url = lower(new.url) where snapshot_id = old.id;
  end if;
  return null;
end $$;
create trigger page_urls_added after insert on snapshot referencing new table as changed for each statement
  execute function keep_page_urls();
create trigger page_urls_deleted after delete on snapshot referencing old table as changed for each statement
  execute function keep_page_urls();
create trigger page_urls_truncated after truncate on snapshot for each statement execute function keep_page_urls();
create trigger page_url_changed after update on snapshot for each row
  when (old.url <> new.url or old.id <> new.id) execute function keep_page_urls();

-- A server may not have the extension, or not let us have it: then a search by a part of a URL reads all of them.
do $$
begin
  create extension if not exists pg_trgm;
  execute format('create index page_url_parts on page_url using gin (url %I.gin_trgm_ops)',
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'));
exception when others then
  raise notice 'no index for parts of URLs: %', sqlerrm;
end $$;
