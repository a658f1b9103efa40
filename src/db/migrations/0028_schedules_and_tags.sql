-- changes: schedules archive again and again; a tag is renamed and deleted in crawls, too
-- reads: crawl

-- What is archived again and again. The due moment is `next_at`; `retry_at` is when the leader looks at the row.
create table schedule (
  id          uuid primary key,
  every       text not null,                                       -- as it was typed
  cron        text not null,
  timezone    text not null,
  urls        text not null,                                       -- one a line
  crawl       jsonb not null,                                      -- the limits, tags and settings of its crawls
  next_at     timestamptz not null,
  last_at     timestamptz,                                         -- the due moment that was handled last
  message     text not null default '',                            -- what was skipped or made up for last
  status      text not null default 'active' check (status in ('active', 'paused')),
  retry_at    timestamptz not null,
  claim_token uuid,
  claimed_by  uuid,
  attempts    integer not null default 0,
  moved_by    uuid,
  created_at  timestamptz not null default now(),
  modified_at timestamptz not null default now(),
  status_changed_at timestamptz not null default now(),
  check ((claim_token is null) = (claimed_by is null))
);
create index schedule_due on schedule (retry_at, id) where status in ('active');
create index schedule_claimed on schedule (claimed_by) where claimed_by is not null;
create trigger schedule_added after insert on schedule for each statement execute function notify_work();

-- One crawl for each due moment, whatever is killed meanwhile.
alter table crawl add column schedule_id uuid references schedule on delete set null;
alter table crawl add column due_at timestamptz;
create unique index crawl_of_schedule on crawl (schedule_id, due_at) where schedule_id is not null;
create index crawl_of_schedule_open on crawl (schedule_id)
  where schedule_id is not null and status in ('queued', 'started', 'paused');

-- The crawls that have a tag: a tag that is renamed or deleted changes there, too.
create index crawl_tags on crawl using gin (tags);
