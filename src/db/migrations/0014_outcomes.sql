-- changes: a sealed page has an outcome (archived, partial, failed), and its cause
-- reads: crawl, snapshot, archive_result, process

-- How a sealed page went: beside its status, which says where it is. Pages that were sealed before this migration have
-- none yet; the leader judges them in batches (workers/judge-old-pages.ts).
alter table snapshot
  add column outcome     text check (outcome in ('archived', 'partial', 'failed')),
  add column cause       text,                                     -- one line; null when archived
  add column http_status smallint check (http_status between 100 and 599),
  add constraint snapshot_outcome_sealed check (outcome is null or status = 'sealed'),
  add constraint snapshot_outcome_cause check (coalesce(outcome <> 'archived', false) = (cause is not null));

-- Lists of one outcome, newest first; what went wrong last, of which there is little; and the pages that are not judged
-- yet.
create index snapshot_outcome_in_order on snapshot (outcome, id) where outcome is not null;
create index snapshot_wrong on snapshot (status_changed_at) where outcome in ('partial', 'failed');
create index snapshot_wrong_of_crawl on snapshot (crawl_id, status_changed_at) where outcome in ('partial', 'failed');
create index snapshot_unjudged on snapshot (id) where status = 'sealed' and outcome is null;

-- Kept counts tell the outcomes of sealed pages apart; '' is none. What sums by status reads on as before.
alter table row_change add column outcome text not null default '';
alter table row_total add column outcome text not null default '';
alter table row_total drop constraint row_total_pkey, add primary key (model, status, outcome);
alter table crawl_total add column outcome text not null default '';
alter table crawl_total drop constraint crawl_total_pkey, add primary key (crawl_id, status, outcome);

create or replace view row_count as
  select model, status, rows, bytes, outcome from row_total
  union all select model, status, rows, bytes, outcome from row_change;
create or replace view crawl_pages as
  select crawl_id, status, pages, outcome from crawl_total
  union all select crawl_id, status, rows, outcome from row_change where crawl_id is not null;

create or replace function count_pages() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    delete from row_change where model = 'snapshot';
    delete from row_total where model = 'snapshot';
    delete from crawl_total;
  elsif tg_op = 'INSERT' then
    insert into row_change (model, crawl_id, status, outcome, rows, bytes)
    select 'snapshot', crawl_id, status, coalesce(outcome, ''), count(*), sum(output_size)
    from changed group by 2, 3, 4;
  elsif tg_op = 'DELETE' then
    insert into row_change (model, crawl_id, status, outcome, rows, bytes)
    select 'snapshot', crawl_id, status, coalesce(outcome, ''), -count(*), -sum(output_size)
    from changed group by 2, 3, 4;
  else
    insert into row_change (model, crawl_id, status, outcome, rows, bytes)
    values ('snapshot', old.crawl_id, old.status, coalesce(old.outcome, ''), -1, -old.output_size),
           ('snapshot', new.crawl_id, new.status, coalesce(new.outcome, ''), 1, new.output_size);
  end if;
  return null;
end $$;
drop trigger page_changed on snapshot;
create trigger page_changed after update on snapshot for each row
  when (old.status <> new.status or old.output_size <> new.output_size or old.crawl_id <> new.crawl_id
    or old.outcome is distinct from new.outcome)
  execute function count_pages();

-- An id may be given by its end, which is random: ids read backwards, so that all with one end lie side by side.
create index crawl_backwards on crawl ((reverse(replace(id::text, '-', ''))::uuid));
create index snapshot_backwards on snapshot ((reverse(replace(id::text, '-', ''))::uuid));
create index archive_result_backwards on archive_result ((reverse(replace(id::text, '-', ''))::uuid));
create index process_backwards on process ((reverse(replace(id::text, '-', ''))::uuid));
