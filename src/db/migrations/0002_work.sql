-- changes: programs of plugins are looked up once a machine; hooks whose failure may pass are tried again
-- reads: transition

-- Programs that plugins need, as one machine has them. Looked up (and installed, where a plugin can) by whoever holds
-- the row's claim.
create table "binary" (
  id                uuid primary key,
  machine_id        uuid not null references machine on delete cascade,
  -- as PATH knows it, or an absolute path; empty: stays queued
  name              text not null default '',
  -- who may provide it, comma-separated; empty: stays queued, *: anybody
  binproviders      text not null default '',
  min_version       text not null default '',
  abspath           text not null default '',
  version           text not null default '',
  sha256            text not null default '',
  message           text not null default '',                      -- why it is not there
  status            text not null default 'queued' check (status in ('queued', 'installed')),
  retry_at          timestamptz default now(),
  claim_token       uuid,
  claimed_by        uuid,
  attempts          integer not null default 0,                    -- look-ups in vain
  created_at        timestamptz not null default now(),
  modified_at       timestamptz not null default now(),
  status_changed_at timestamptz not null default now(),
  unique (machine_id, name, abspath, version, sha256),
  check (status <> 'installed' or (retry_at is null and claim_token is null and abspath <> '')),
  check ((claim_token is null) = (claimed_by is null))
);
create index binary_due on "binary" (retry_at, id) where status in ('queued');
create index binary_claimed on "binary" (claimed_by) where claimed_by is not null;

-- How many attempts before this one failed in a way that may pass, one after the other.
alter table archive_result add column retries integer not null default 0;

-- What there is to say of a crawl that did not come to its end by itself.
alter table crawl add column message text not null default '';

-- The attempts that count: the last of each hook on each page.
create view latest_result as
  select r.* from archive_result r
  where not exists (
    select 1 from archive_result later
    where (later.snapshot_id, later.plugin, later.hook_name) = (r.snapshot_id, r.plugin, r.hook_name)
      and later.attempt > r.attempt
  );

-- Rows come in the order of their time: a few pages of index for the question "what was handled lately".
create index transition_at on transition using brin (at) with (autosummarize = on);
