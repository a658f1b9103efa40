-- changes: lists of processes and counts of tags answer at once; the bytes of a host in a crawl are limited
-- reads: process, snapshot_tag

-- Lists of processes that are few: those whose end nobody saw, and all but hooks. Any other list walks from the newest
-- row on. The types are in the condition of both indexes, so that no other statement takes one for its own.
create index process_lost on process (data_dir_id, seq) where status = 'lost';
create index process_of_type on process (data_dir_id, process_type, seq) where process_type <> 'hook';
create index process_of_worker_type on process (data_dir_id, worker_type, seq) where process_type <> 'hook';

-- Crawls whose limit is one of bytes for each host: in these, the bytes of sealed pages are kept by host, like counts.
-- A crawl is one from when that is asked for first (db/host-use.ts); others pay a look into this table, which is empty.
create table crawl_by_host (
  crawl_id uuid primary key references crawl on delete cascade
);
create table host_total (
  crawl_id uuid not null references crawl_by_host on delete cascade,
  host     text not null,
  bytes    bigint not null,
  primary key (crawl_id, host)
);
alter table row_change add column host text;                         -- of sealed pages in such crawls
create view host_bytes as
  select crawl_id, host, bytes from host_total
  union all select crawl_id, host, bytes from row_change where crawl_id is not null and host is not null;

-- How many pages each tag has is kept like the count of a status: of the model `snapshot_tag`, the status is the id of
-- the tag.
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
    insert into row_change (model, status, rows)
    select tg_table_name, status, rows
    from (values (old.status, old.end_ts, -1), (new.status, new.end_ts, 1)) as change (status, end_ts, rows)
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
    insert into row_change (model, status, rows)
    select tg_table_name, status, sign * count(*) from changed where end_ts is not null group by status;
  end if;
  return null;
end $$;
drop trigger row_changed on snapshot;
create trigger row_changed after update on snapshot for each row
  when (old.status <> new.status or old.output_size <> new.output_size or old.crawl_id <> new.crawl_id
    or old.outcome is distinct from new.outcome or old.url <> new.url) execute function count_rows();
create trigger rows_added after insert on snapshot_tag referencing new table as changed
  for each statement execute function count_rows();
create trigger rows_deleted after delete on snapshot_tag referencing old table as changed
  for each statement execute function count_rows();
create trigger row_changed after update on snapshot_tag for each row when (old.tag_id <> new.tag_id)
  execute function count_rows();
create trigger rows_truncated after truncate on snapshot_tag for each statement execute function count_rows();
insert into row_total (model, status, rows) select 'snapshot_tag', tag_id, count(*) from snapshot_tag group by tag_id;
