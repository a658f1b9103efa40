-- changes: every page says which data dir has its files; two data dirs on one database leave each other's pages alone
-- reads: archive_result, snapshot

-- A node is a data dir on one machine, with a runner of its own. Its id is that of the data dir.
create table node (
  id           uuid primary key,
  machine_id   uuid references machine (id) on delete set null,       -- where its runner was last
  data_dir     text not null,                                         -- its path there, for people
  name         text not null unique,
  version      text not null default '',                              -- of the program that last led there
  schema       integer,                                               -- the newest schema that this program knows
  state        text not null default 'active' check (state in ('active', 'draining', 'lost')),
  heartbeat_at timestamptz not null default now(),
  free_bytes   bigint,
  is_keeper    boolean not null default false,                        -- this database is its own embedded server's
  created_at   timestamptz not null default now()
);

-- Removals of files that only their node can make, by ids of pages and crawls, never by paths: the rows may be gone.
create table file_job (
  id       bigint generated always as identity primary key,
  node_id  uuid not null references node (id) on delete cascade on update cascade,
  what     text not null check (what in ('page', 'crawl', 'result')),
  ids      uuid[] not null,
  detail   text,                                                      -- of results: plugin, hook and attempt, as JSON
  asked_at timestamptz not null default now(),
  tried_at timestamptz,
  why      text                                                       -- what it waits for
);
create index file_job_of_node on file_job (node_id, id);

insert into node (id, machine_id, data_dir, name, heartbeat_at)
select id, machine_id, data_dir,
  case when count(*) over (partition by hostname) = 1 then hostname
       else hostname || ':' || regexp_replace(data_dir, '^.*/', '') || ':' || right(id::text, 4) end,
  heartbeat_at
from (
  select distinct on (p.data_dir_id) p.data_dir_id as id, p.machine_id, p.data_dir, m.hostname,
    coalesce(p.heartbeat_at, p.ended_at, p.started_at, now()) as heartbeat_at
  from process p join machine m on m.id = p.machine_id
  where p.data_dir_id in (select data_dir_id from runner_term)
  order by p.data_dir_id, p.seq desc
) last_seen;

-- Whatever is there is of the one node, if there is but one: a constant default fills a column and writes no row.
do $$
declare
  only_node uuid := (select min(id::text)::uuid from node having count(*) = 1);
begin
  execute format('alter table archive_result add column node_id uuid default %L', only_node);
  execute format('alter table snapshot add column home_node uuid default %L', only_node);
  execute format('alter table crawl add column home_node uuid default %L', only_node);
  alter table archive_result alter column node_id drop default;
  alter table snapshot alter column home_node drop default;
  alter table crawl alter column home_node drop default;
  if only_node is not null then
    -- What has no file yet is anybody's.
    update snapshot s set home_node = null
    where status <> 'sealed' and not exists (
      select from archive_result r where r.snapshot_id = s.id and r.output_files <> '{}');
    update crawl set home_node = null where status = 'queued';
  elsif exists (select from node) then
    update archive_result r set node_id = p.data_dir_id from process p where p.id = r.process_id;
    update snapshot s set home_node = (
      select node_id from archive_result r where r.snapshot_id = s.id and r.node_id is not null
      order by output_files <> '{}' desc, end_ts desc nulls last limit 1);
  end if;
end $$;
comment on column archive_result.node_id is 'the data dir that has its files; null: it has none';
comment on column snapshot.home_node is 'the data dir that began it, and has the files of its results; null: none has';
comment on column crawl.home_node is 'the data dir that works on it while that is active; null: whichever comes first';

create or replace view latest_result as
  select r.* from archive_result r
  where not exists (
    select 1 from archive_result later
    where (later.snapshot_id, later.plugin, later.hook_name) = (r.snapshot_id, r.plugin, r.hook_name)
      and later.attempt > r.attempt
  );
