-- changes: a data dir has one runner, by whichever path, container or mount it is reached
-- rewrites: process

-- A data dir is named by the id that lies in it, not by its path: two paths, two containers, two mounts of one data dir
-- meet at one gate.
alter table process add column data_dir_id uuid;
update process set data_dir_id = md5(machine_id::text || data_dir)::uuid;
alter table process alter column data_dir_id set not null;

drop index single_active_runner_per_data_dir, process_live;
create unique index single_active_runner_per_data_dir on process (data_dir_id)
  where worker_type = 'worker_runner' and status in ('running', 'draining');
create index process_live on process (data_dir_id, worker_type) where status in ('starting', 'running', 'draining');

drop table runner_term;
create table runner_term (
  data_dir_id uuid primary key,
  term        bigint not null,
  process_id  uuid not null
);

-- A runner that does not take over: it waits until no other one is left, and newer ones let it wait.
alter table process add column standby boolean not null default false;
-- What it was started under, the nearest first: tells two supervisors that restart their runners against each other
-- from one person who starts several.
alter table process add column started_under text[] not null default '{}';
