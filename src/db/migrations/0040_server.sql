-- changes: `server` shows the archive to browsers that have a one-time link

-- Who may look at the archive in a browser. Nothing is kept as it was given out: only its SHA-256. Both belong to one
-- data dir, whose server gave them out.
create table web_session (
  hash        bytea primary key check (octet_length(hash) = 32),
  data_dir_id uuid not null,
  created_at  timestamptz not null default now(),
  seen_at     timestamptz not null default now(),                  -- within an hour
  expires_at  timestamptz not null
);
create index web_session_of_data_dir on web_session (data_dir_id, expires_at);

-- A code that begins one session, once.
create table login_code (
  hash        bytea primary key check (octet_length(hash) = 32),
  data_dir_id uuid not null,
  expires_at  timestamptz not null
);
create index login_code_over on login_code (expires_at);
