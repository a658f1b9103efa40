-- changes: pages and hooks are counted for good, also after they are deleted; backups are made and kept on a schedule

-- What has ended in all, by the outcome of a page and the plugin of a hook: sums that only grow, whatever is deleted.
-- The leader adds them up together with the counts (db/counts.ts).
create table ended_total (
  model text not null,
  kind  text not null,                                                -- of snapshots the outcome, of results the plugin
  ended bigint not null,
  ms    bigint not null default 0,                                    -- how long hooks took
  primary key (model, kind)
);
insert into ended_total (model, kind, ended, ms)
  select model, outcome, sum(rows), sum(hook_ms) from row_total
  where model = 'archive_result' or model = 'snapshot' and status = 'sealed'
  group by model, outcome having sum(rows) > 0;
-- These have taken the place of sums for the results that are kept.
drop view row_count;
alter table row_total drop column hook_ms;
create view row_count as
  select model, status, rows, bytes, outcome from row_total
  union all select model, status, rows, bytes, outcome from row_change;

-- Backups and attempts at them. A file belongs to a row of its data dir; what no row knows is left alone.
create table backup (
  id           uuid primary key,
  data_dir_id  uuid,                                                  -- whose files it was made with; null: not known
  process_id   uuid,                                                  -- what makes or made it
  file         text not null,
  is_scheduled boolean not null,
  status       text not null default 'running' check (status in ('running', 'succeeded', 'failed')),
  begun_at     timestamptz not null default now(),                    -- it has the rows of this moment
  ended_at     timestamptz check ((ended_at is null) = (status = 'running')),
  size         bigint,
  sha256       text,
  checked      text check (checked in ('read', 'restored')),          -- how it was checked afterwards
  why          text check ((why is not null) = (status = 'failed'))
);
create index backup_by_status on backup (status, begun_at);
insert into backup (id, file, is_scheduled, status, begun_at, ended_at)
  select gen_random_uuid(), file, false, 'succeeded', made_at, made_at from last_backup;
drop table last_backup;

-- A leader that stood still has not led: its lead ended with its last heartbeat (TRUST_MS of db/heartbeats.ts).
create or replace function keep_leads() returns trigger language plpgsql as $$
declare
  led boolean := old.worker_type = 'worker_runner' and old.status in ('running', 'draining');
  leads boolean := new.worker_type = 'worker_runner' and new.status in ('running', 'draining');
begin
  if led and not leads then
    update lead set is_lost = new.status = 'lost',
      ended_at = case when new.status = 'lost' or old.heartbeat_at < now() - interval '25 s'
        then greatest(began_at, old.heartbeat_at) else now() end
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
