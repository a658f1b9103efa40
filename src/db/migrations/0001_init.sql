-- changes: crawls, pages, results, moves and processes are rows of a database

-- The schema repeats the invariants: what the code promises, a hand-written UPDATE cannot break either.

create table machine (
  id          uuid primary key,
  guid        text not null unique,
  hostname    text not null,
  os_platform text not null,
  os_arch     text not null,
  created_at  timestamptz not null default now()
);

-- One row per operating system process that works for a data dir. Written before the spawn, completed after it.
create table process (
  id                   uuid primary key,
  -- order of registration: "newer" never depends on a clock
  seq                  bigint generated always as identity unique,
  machine_id           uuid not null references machine,
  data_dir             text not null,
  parent_id            uuid references process on delete set null,
  -- the runner it belongs to, as in its environment marker
  runner_id            uuid,
  process_type         text not null check (process_type in
                         ('orchestrator', 'worker', 'cli', 'hook', 'server', 'add', 'update', 'binary', 'supervisord',
                           'search')),
  worker_type          text not null default ''
    check (worker_type in ('', 'worker_runner', 'runner_waiting', 'crawl', 'snapshot', 'binary')),
  status               text not null default 'starting'
    check (status in ('starting', 'running', 'draining', 'exited', 'lost')),
  boot_id              text,
  pid_namespace        text,
  pid                  integer,
  start_ticks          bigint,
  pwd                  text not null default '',
  cmd                  jsonb not null default '[]',
  url                  text,
  crawl_id             uuid,
  snapshot_id          uuid,
  timeout              integer,                                    -- seconds
  term                 bigint,
  handoff_requested_by uuid,
  created_at           timestamptz not null default now(),
  started_at           timestamptz,
  heartbeat_at         timestamptz,
  ended_at             timestamptz,
  -- null: not known; 0 only when the parent's wait said so
  exit_code            integer,
  exit_signal          text,
  check ((status in ('exited', 'lost')) = (ended_at is not null)),
  check (status not in ('running', 'draining') or (pid is not null and started_at is not null)),
  check (worker_type <> 'worker_runner' or term is not null)
);
-- The gate. Its predicate spells statuses out: a renamed status would disable it, so the start checks that it rejects a
-- second row.
create unique index single_active_runner_per_data_dir on process (machine_id, data_dir)
  where worker_type = 'worker_runner' and status in ('running', 'draining');
create unique index one_row_per_os_process on process (machine_id, boot_id, pid_namespace, pid, start_ticks)
  where status in ('running', 'draining');
create index process_live on process (machine_id, data_dir, worker_type)
  where status in ('starting', 'running', 'draining');
create index process_parent on process (parent_id);
create index process_newest on process (created_at desc);

-- The term in force: the fencing token of one leadership. Raised by each promotion, compared by each claim.
create table runner_term (
  machine_id uuid not null references machine,
  data_dir   text not null,
  term       bigint not null,
  process_id uuid not null,
  primary key (machine_id, data_dir)
);

create table crawl (
  id          uuid primary key,
  urls        text not null,
  max_depth   smallint not null default 0 check (max_depth between 0 and 4),
  max_urls    integer not null default 0 check (max_urls >= 0),    -- 0: no limit
  max_size    bigint not null default 0 check (max_size >= 0),     -- bytes; 0: no limit
  tags        text[] not null default '{}',
  label       text not null default '',
  config      jsonb not null default '{}',
  output_dir  text not null,                                       -- relative to the data dir
  status      text not null default 'queued' check (status in ('queued', 'started', 'paused', 'sealed')),
  retry_at    timestamptz default now(),
  claim_token uuid,
  claimed_by  uuid,
  attempts    integer not null default 0,                          -- claims that did not end in a release
  created_at  timestamptz not null default now(),
  modified_at timestamptz not null default now(),
  status_changed_at timestamptz not null default now(),
  check (status <> 'sealed' or (retry_at is null and claim_token is null)),
  check ((claim_token is null) = (claimed_by is null))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index crawl_due on crawl (retry_at, id) where status in ('queued', 'started');
create index crawl_status on crawl (status);
create index crawl_claimed on crawl (claimed_by) where claimed_by is not null;
create index crawl_newest on crawl (created_at desc);

create table snapshot (
  id                 uuid primary key,
  crawl_id           uuid not null references crawl on delete cascade,
  parent_snapshot_id uuid references snapshot on delete set null,
  url                text not null,
  -- sha256(url): urls may be longer than an index entry
  url_hash           bytea not null,
  title              text,
  depth              smallint not null default 0,
  output_dir         text not null,                                -- relative to the data dir
  output_size        bigint not null default 0,
  status             text not null default 'queued' check (status in ('queued', 'started', 'paused', 'sealed')),
  retry_at           timestamptz default now(),
  claim_token        uuid,
  claimed_by         uuid,
  attempts           integer not null default 0,
  created_at         timestamptz not null default now(),
  modified_at        timestamptz not null default now(),
  status_changed_at  timestamptz not null default now(),
  unique (crawl_id, url_hash),
  check (status <> 'sealed' or (retry_at is null and claim_token is null)),
  check ((claim_token is null) = (claimed_by is null))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index snapshot_due on snapshot (crawl_id, retry_at, id) where status in ('queued', 'started');
create index snapshot_open on snapshot (crawl_id) where status in ('queued', 'started', 'paused');
create index snapshot_sealed on snapshot (crawl_id, status_changed_at) where status = 'sealed';
create index snapshot_status on snapshot (status);
create index snapshot_claimed on snapshot (claimed_by) where claimed_by is not null;

-- One row per attempt of one hook on one snapshot. A projection of what its owner, the snapshot's worker, did; never
-- claimed itself.
create table archive_result (
  id           uuid primary key,
  snapshot_id  uuid not null references snapshot on delete cascade,
  plugin       text not null,
  hook_name    text not null,
  attempt      integer not null default 1,
  status       text not null default 'queued' check (status in
                 ('queued', 'started', 'backoff', 'succeeded', 'failed', 'skipped', 'noresults')),
  process_id   uuid,
  output_str   text not null default '',
  output_json  jsonb,
  output_files jsonb not null default '{}',
  output_size  bigint not null default 0,
  start_ts     timestamptz,
  end_ts       timestamptz,
  created_at   timestamptz not null default now(),
  unique (snapshot_id, plugin, hook_name, attempt),
  check ((status in ('succeeded', 'failed', 'skipped', 'noresults')) = (end_ts is not null))
);
create index archive_result_status on archive_result (status);

create table tag (
  id   uuid primary key default gen_random_uuid(),
  name text not null unique
);

create table snapshot_tag (
  snapshot_id uuid not null references snapshot on delete cascade,
  tag_id      uuid not null references tag on delete cascade,
  primary key (snapshot_id, tag_id)
);

-- Every change of status, written in the statement that made it.
create table transition (
  id          bigint generated always as identity primary key,
  model       text not null,
  row_id      uuid not null,
  from_status text not null,
  to_status   text not null,
  event       text not null,
  process_id  uuid,
  at          timestamptz not null default now()
);
create index transition_row on transition (row_id, id);

-- New work wakes the leader. The payload is empty: a notification says "look", never "what".
create function notify_work() returns trigger language plpgsql as $$
begin
  perform pg_notify('archivebox_work', '');
  return null;
end $$;
create trigger crawl_queued after insert on crawl for each statement execute function notify_work();
