-- changes: all machines together keep the limits of a host

-- When the pages of a host may be begun, by all workers of all machines. Only hosts with a limit have a row here.
create table host (
  host          text primary key,
  next_at       timestamptz not null default now(),                -- the next page may begin then
  later_at      timestamptz not null default now(),                -- when those look again that are too many to wait
  blocked_until timestamptz                                        -- the host itself asked for this
);
create index host_idle on host (next_at);

-- A page that may begin at `starts_at`, or that was begun under the claim `token`: its place is free when that claim
-- is over, however it ended.
create table host_turn (
  snapshot_id uuid primary key references snapshot on delete cascade,
  host        text not null references host on delete cascade,
  starts_at   timestamptz not null,
  token       uuid
);
create index host_turn_begun on host_turn (host) where token is not null;
