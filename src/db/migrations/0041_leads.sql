-- changes: who led when, how long hooks took and when the last backup was made is kept
-- reads: process, archive_result

-- Who led, and from when until when. The row of a runner says only how it is now: one that gives up its lead, and has
-- it again, has had two.
create table lead (
  data_dir_id   uuid not null,
  term          bigint not null,
  process_id    uuid not null,
  began_at      timestamptz not null default now(),
  ended_at      timestamptz,                                         -- of one whose end nobody saw: its last heartbeat
  is_lost       boolean not null default false,                      -- nobody saw its end
  gap_ms        bigint not null default 0,                           -- so long nobody had led before
  leaderless_ms bigint not null default 0,                           -- the sum of these, of all terms up to this one
  primary key (data_dir_id, term)
);
create index lead_ended on lead (ended_at);

create function keep_leads() returns trigger language plpgsql as $$
declare
  led boolean := old.worker_type = 'worker_runner' and old.status in ('running', 'draining');
  leads boolean := new.worker_type = 'worker_runner' and new.status in ('running', 'draining');
begin
  if led and not leads then
    update lead set is_lost = new.status = 'lost',
      ended_at = case when new.status = 'lost' then greatest(began_at, new.heartbeat_at) else now() end
    where data_dir_id = old.data_dir_id and term = old.term and ended_at is null;
  elsif leads and not led then
    insert into lead (data_dir_id, term, process_id, gap_ms, leaderless_ms)
    select new.data_dir_id, new.term, new.id, gap, gap + coalesce(before.leaderless_ms, 0)
    from (select) as always left join lateral (
      select * from lead where data_dir_id = new.data_dir_id and term < new.term order by term desc limit 1
    ) before on true, lateral (
      select coalesce(greatest(0, extract(epoch from now() - before.ended_at) * 1000), 0)::bigint as gap) g
    on conflict do nothing;
  end if;
  return null;
end $$;
-- Most updates are of hooks and heartbeats, and must cost nothing here.
create trigger lead_changed after update on process for each row
  when ((new.worker_type = 'worker_runner' or old.worker_type = 'worker_runner')
    and (old.worker_type <> new.worker_type or old.status <> new.status))
  execute function keep_leads();

-- Of the leads before, what rows of runners tell.
insert into lead (data_dir_id, term, process_id, began_at, ended_at, is_lost)
  select data_dir_id, term, id, promoted_at,
    case when worker_type = 'worker_runner' then case when status = 'lost' then greatest(promoted_at, heartbeat_at)
      else ended_at end else coalesce(ended_at, promoted_at) end, status = 'lost'
  from process where promoted_at is not null and term is not null
  on conflict do nothing;

-- How many pages waited, once a minute, as long as somebody leads.
create table queue_sample (
  at   timestamptz primary key,
  open bigint not null
);

-- When the rows were last written to a backup.
create table last_backup (
  is_only boolean primary key default true check (is_only),
  made_at timestamptz not null,
  file    text not null
);

-- How long hooks took is kept like their counts, of each plugin: of results, the outcome of a count is the plugin.
alter table row_change add column hook_ms bigint not null default 0;
alter table row_total add column hook_ms bigint not null default 0;
create or replace view row_count as
  select model, status, rows, bytes, outcome, hook_ms from row_total
  union all select model, status, rows, bytes, outcome, hook_ms from row_change;
create function hook_ms(start_ts timestamptz, end_ts timestamptz) returns bigint language sql immutable as $$
  select coalesce(greatest(0, extract(epoch from end_ts - start_ts) * 1000), 0)::bigint $$;
create or replace function count_rows() returns trigger language plpgsql as $$
declare
  sign integer := case tg_op when 'DELETE' then -1 else 1 end;
begin
  if tg_op = 'TRUNCATE' then
    delete from row_change where model = tg_table_name;
    delete from row_total where model = tg_table_name;
    if tg_table_name = 'snapshot' then
      delete from crawl_total;
      delete from host_total;
    end if;
  elsif tg_op = 'UPDATE' and tg_table_name = 'crawl' then
    insert into row_change (model, status, rows) values ('crawl', old.status, -1), ('crawl', new.status, 1);
  elsif tg_op = 'UPDATE' and tg_table_name = 'snapshot' then
    insert into row_change (model, crawl_id, status, outcome, rows, bytes, host)
    values ('snapshot', old.crawl_id, old.status, coalesce(old.outcome, ''), -1, -old.output_size,
             case when old.status = 'sealed' and exists (select from crawl_by_host c where c.crawl_id = old.crawl_id)
               then url_host(lower(old.url)) end),
           ('snapshot', new.crawl_id, new.status, coalesce(new.outcome, ''), 1, new.output_size,
             case when new.status = 'sealed' and exists (select from crawl_by_host c where c.crawl_id = new.crawl_id)
               then url_host(lower(new.url)) end);
  elsif tg_op = 'UPDATE' and tg_table_name = 'snapshot_tag' then
    insert into row_change (model, status, rows)
    values ('snapshot_tag', old.tag_id, -1), ('snapshot_tag', new.tag_id, 1);
  elsif tg_op = 'UPDATE' then
    insert into row_change (model, status, outcome, rows, hook_ms)
    select tg_table_name, status, plugin, rows, rows * hook_ms(start_ts, end_ts)
    from (values (old.status, old.plugin, old.start_ts, old.end_ts, -1),
                 (new.status, new.plugin, new.start_ts, new.end_ts, 1))
      as change (status, plugin, start_ts, end_ts, rows)
    where end_ts is not null;
  elsif tg_table_name = 'crawl' then
    insert into row_change (model, status, rows)
    select 'crawl', status, sign * count(*) from changed group by status;
  elsif tg_table_name = 'snapshot' then
    insert into row_change (model, crawl_id, status, outcome, rows, bytes, host)
    select 'snapshot', crawl_id, status, coalesce(outcome, ''), sign * count(*), sign * sum(output_size), host
    from (
      select changed.*, case when status = 'sealed' and crawl_id in (select c.crawl_id from crawl_by_host c)
        then url_host(lower(url)) end as host
      from changed
    ) page group by crawl_id, status, outcome, host;
  elsif tg_table_name = 'snapshot_tag' then
    insert into row_change (model, status, rows)
    select 'snapshot_tag', tag_id, sign * count(*) from changed group by tag_id;
  else
    insert into row_change (model, status, outcome, rows, hook_ms)
    select tg_table_name, status, plugin, sign * count(*), sign * sum(hook_ms(start_ts, end_ts))
    from changed where end_ts is not null group by status, plugin;
  end if;
  return null;
end $$;
drop trigger row_changed on archive_result;
create trigger row_changed after update on archive_result for each row
  when ((old.end_ts is not null or new.end_ts is not null)
    and (old.status, old.plugin, old.start_ts, old.end_ts)
      is distinct from (new.status, new.plugin, new.start_ts, new.end_ts)) execute function count_rows();
delete from row_change where model = 'archive_result';
delete from row_total where model = 'archive_result';
insert into row_total (model, status, outcome, rows, hook_ms)
  select 'archive_result', status, plugin, count(*), sum(hook_ms(start_ts, end_ts))
  from archive_result where end_ts is not null group by status, plugin;
