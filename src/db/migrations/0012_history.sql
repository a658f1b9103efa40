-- changes: the history of moves and of processes ends some day
-- reads: transition, process, archive_result

-- The log of transitions and the rows of processes that are over are history, which ends some day: nothing that decides
-- reads them any more.

-- The claim under which a row took its last step: whoever lost the answer can look whether it was taken.
alter table crawl add column moved_by uuid;
alter table snapshot add column moved_by uuid;
alter table "binary" add column moved_by uuid;

-- Pages that were cancelled, and are looked at until nobody who worked on them can leave anything behind.
create table cancelled_page (
  snapshot_id uuid primary key references snapshot on delete cascade,
  at          timestamptz not null default now(),
  look_at     timestamptz not null default now()
);
create index cancelled_page_look on cancelled_page (look_at);
insert into cancelled_page (snapshot_id, at)
  select s.id, max(t.at) from transition t join snapshot s on s.id = t.row_id
  where t.at > now() - interval '1 day' and t.model = 'snapshot' and t.event = 'seal' and t.process_id is null
    and s.status = 'sealed'
  group by s.id;

-- Whoever is asked for by a time, a place or a rank is found along an index, however many ended before.
drop index transition_at; -- Pages are filled again after a deletion: rows no longer come in the order of their time.
create index transition_at on transition (at);
create index process_ended on process (ended_at) where ended_at is not null;
create index process_led on process (data_dir_id, seq) where promoted_at is not null;
create index process_superseded on process (data_dir_id, ended_at) where handoff_requested_by is not null;
create index process_leader on process (data_dir_id, boot_id, pid_namespace, term) where worker_type = 'worker_runner';
create index process_lost_leader on process (data_dir_id, boot_id, pid_namespace, term)
  where worker_type = 'worker_runner' and status = 'lost';
create index archive_result_process on archive_result (process_id)
  where process_id is not null and status in ('queued', 'started', 'backoff');
