-- changes: a process is found by its pid at once; keeping counts costs less
-- reads: process

-- A process is found by its pid, however many had one before.
create index process_pid on process (data_dir_id, pid, seq) where pid is not null;

-- How many pages a crawl has is kept once: a limit asks the same count that people see.
alter table crawl drop column page_count;

-- One function keeps the counts of all models. Each has its own columns: reading them by name costs half as much again.
drop function count_crawls, count_pages, count_results cascade;
create function count_rows() returns trigger language plpgsql as $$
declare
  sign integer := case tg_op when 'DELETE' then -1 else 1 end;
begin
  if tg_op = 'TRUNCATE' then
    delete from row_change where model = tg_table_name;
    delete from row_total where model = tg_table_name;
    if tg_table_name = 'snapshot' then
      delete from crawl_total;
    end if;
  elsif tg_op = 'UPDATE' and tg_table_name = 'crawl' then
    insert into row_change (model, status, rows) values ('crawl', old.status, -1), ('crawl', new.status, 1);
  elsif tg_op = 'UPDATE' and tg_table_name = 'snapshot' then
    insert into row_change (model, crawl_id, status, outcome, rows, bytes)
    values ('snapshot', old.crawl_id, old.status, coalesce(old.outcome, ''), -1, -old.output_size),
           ('snapshot', new.crawl_id, new.status, coalesce(new.outcome, ''), 1, new.output_size);
  elsif tg_op = 'UPDATE' then
    insert into row_change (model, status, rows)
    select tg_table_name, status, rows
    from (values (old.status, old.end_ts, -1), (new.status, new.end_ts, 1)) as change (status, end_ts, rows)
    where end_ts is not null;
  elsif tg_table_name = 'crawl' then
    insert into row_change (model, status, rows)
    select 'crawl', status, sign * count(*) from changed group by status;
  elsif tg_table_name = 'snapshot' then
    insert into row_change (model, crawl_id, status, outcome, rows, bytes)
    select 'snapshot', crawl_id, status, coalesce(outcome, ''), sign * count(*), sign * sum(output_size)
    from changed group by crawl_id, status, outcome;
  else
    insert into row_change (model, status, rows)
    select tg_table_name, status, sign * count(*) from changed where end_ts is not null group by status;
  end if;
  return null;
end $$;

do $$
declare model text;
begin
  foreach model in array '{crawl,snapshot,archive_result}'::text[] loop
    execute format('create trigger rows_added after insert on %I referencing new table as changed
      for each statement execute function count_rows()', model);
    execute format('create trigger rows_deleted after delete on %I referencing old table as changed
      for each statement execute function count_rows()', model);
    execute format('create trigger rows_truncated after truncate on %I
      for each statement execute function count_rows()', model);
  end loop;
end $$;
-- Changes by row, and only where a count changes: most updates are of leases, and must cost nothing here.
create trigger row_changed after update on crawl for each row
  when (old.status <> new.status) execute function count_rows();
create trigger row_changed after update on snapshot for each row
  when (old.status <> new.status or old.output_size <> new.output_size or old.crawl_id <> new.crawl_id
    or old.outcome is distinct from new.outcome) execute function count_rows();
create trigger row_changed after update on archive_result for each row
  when (old.status <> new.status and (old.end_ts is not null or new.end_ts is not null)) execute function count_rows();
