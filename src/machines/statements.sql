-- What the archive's own queues send, with their fence and conditions filled in.
-- Written by scripts/write-statements.ts. To try one: paste the file into psql, then execute "crawl: claim 1"(...).
-- What is missing for snapshots and binaries is as for crawls.

-- claims the row that has been due the longest; $1 lease in seconds, $2, $3 cursor: schedule, id, $4 token, $5 owner,
--   $6 data dir and $7 term of the fence
prepare "crawl: claim 1" as
with fence as (select data_dir_id from runner_term where data_dir_id = $8 and term = $9 for share),
  due as materialized (
  select work."id" as id, work."retry_at" as was, work."claimed_by"::text as expired_owner from "crawl" as work, fence
  where work."status" in ('queued', 'started') and work."retry_at" <= now() and not exists (select from node
    where node.id = $6 and node.state = 'draining') and ((work.home_node is null or work.home_node = $7 or not exists (
  select from node where node.id = work.home_node
    and node.state = 'active')) or work.retry_at < now() - interval '15 minutes') and in_index_order()
    and (work."retry_at", work."id") >= ($2::timestamptz, $3::uuid)
  order by work."retry_at", work."id"
  limit 1
  for no key update of work skip locked
), changed as (
  update "crawl" as work
  set "retry_at" = now() + make_interval(secs => $1), "claim_token" = $4, "claimed_by" = $5,
    "attempts" = work."attempts" + 1, "modified_at" = now()
  where work."id" = (select id from due)
  returning work.*
), taken as (
  select changed.*, due.was::text as engine_was, due.expired_owner as engine_expired_owner
  from changed join due on due.id = changed."id"
)
select taken.* from taken, (select set_config('synchronous_commit',
  coalesce(current_setting('archivebox.synchronous_commit', true), current_setting('synchronous_commit')),
  true)) as relaxed;

-- renews claims; $1 ids, $2 tokens, $3 lease in seconds
prepare "crawl: renew" as
update "crawl" as work set "retry_at" = now() + make_interval(secs => $3)
from unnest($1::uuid[], $2::uuid[]) as held (id, token)
where work."id" = any($1::uuid[]) -- as with claims: no plan may depend on how large the batch is
  and work."id" = held.id and work."claim_token" = held.token
returning work."id"::text as id;

-- gives a claim back; $1 id, $2 token, $3 delay in seconds, $4 does the attempt count?
prepare "crawl: release" as
update "crawl" set "retry_at" = now() + make_interval(secs => $3), "claim_token" = null, "claimed_by" = null,
  "attempts" = case when $4::boolean then "attempts" else greatest("attempts" - 1, 0) end, "modified_at" = now()
where "id" = $1 and "claim_token" = $2
returning "id"::text as id;

-- undoes a claim whose answer was lost; $1 token, $2 owner
prepare "crawl: unclaim" as
update "crawl" set "retry_at" = now(), "claim_token" = null, "claimed_by" = null, "attempts" = "attempts" - 1
where "claimed_by" = $2 and "claim_token" = $1
returning "id"::text as id;

-- shows which owners hold a row, and who is late; $1 owners, $2 seconds
prepare "crawl: holders" as
select "claimed_by"::text as owner, bool_or("retry_at" < now() - make_interval(secs => $2)) as late
from "crawl" where "claimed_by" = any($1) group by 1;

-- forgets the attempts before this one; $1 id, $2 token
prepare "crawl: forget" as
update "crawl" set "attempts" = 1 where "id" = $1 and "claim_token" = $2 and "attempts" > 1
returning "id"::text as id;

-- shows which rows came to a state under a token; $1 ids, $2 tokens, $3 states
prepare "crawl: moved" as
select work."id"::text as id from "crawl" as work
join unnest($1::uuid[], $2::uuid[], $3::text[]) as asked (id, token, to_status)
  on work."id" = asked.id and work."moved_by" = asked.token and work."status" = asked.to_status
where work."id" = any($1::uuid[]);

-- makes due again what dead owners claimed; $1 owners, $2 does the attempt count?
prepare "crawl: requeue" as
update "crawl" set "retry_at" = now(), "claim_token" = null, "claimed_by" = null, "attempts" = case
  when $2::boolean then "attempts" else greatest("attempts" - 1, 0) end, "modified_at" = now()
where "claimed_by" = any($1)
returning "id"::text as id;

-- moves a row into another state, where its claim goes on; $1 id, $2 token, $3 from, $4 to, $5 event, $6 who
prepare "crawl: keep" as
with moved as (
  update "crawl" as work set "status" = $4, "status_changed_at" = now(), "moved_by" = $2, "modified_at" = now()
  where work."id" = $1 and work."claim_token" = $2 and work."status" is not distinct from $3
  returning work."id" as id, $3::text as from_status, $4::text as to_status, $5::text as event,
    $6::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'crawl', id, from_status, to_status, event, by from moved where event <> ''
)
select id::text from moved;

-- ends claims with the same step; $1 ids, $2 token, $3 from, $4 to, $5 event, $6 seconds until due, $7 who,
--   $8 attempts, $9... columns
prepare "crawl: settle alike" as
with moved as (
  update "crawl" as work set "status" = $4, "retry_at" = case $6::float8
    when 'infinity' then timestamptz '9999-01-01 00:00:00Z'
    else now() + make_interval(secs => $6) end,
    "claim_token" = null, "claimed_by" = null, "attempts" = $8, "status_changed_at" = case
      when $5 = '' then work."status_changed_at" else now() end, "moved_by" = $2, "modified_at" = now()
  where work."id" = any($1::uuid[]) and work."claim_token" = $2
and work."status" is not distinct from $3
  returning work."id" as id, $3::text as from_status, $4::text as to_status, $5::text as event,
    $7::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'crawl', id, from_status, to_status, event, by from moved where event <> ''
)
select id::text from unnest($1::uuid[]) as asked (id)
where (select count(*) from moved) < cardinality($1::uuid[]) and id not in (select id from moved);

-- "start" from outside; $1 ids, $2 who, $3 when they are due
prepare "crawl: start" as
with moved_before as materialized (
  select work."id" as id, work."status"::text as from_status, 'started'::text as to_status,
    'start'::text as event
  from "crawl" as work where work."id" = any($1::uuid[]) and work."status" in ('queued')
  order by work."id"::text collate "C" for no key update
), moved as (
  update "crawl" as work set "status" = before.to_status, "retry_at" = $3::timestamptz, "claim_token" = null,
    "claimed_by" = null, "attempts" = 0, "status_changed_at" = now(), "moved_by" = null, "modified_at" = now()
  from moved_before as before
  where work."id" = any(array(select id from moved_before)) and work."id" = before.id
  returning work."id" as id, before.from_status as from_status, before.to_status as to_status, before.event as event,
    $2::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'crawl', id, from_status, to_status, event, by from moved
) select id::text from moved;

-- "pause" from outside; $1 ids, $2 who, $3 when they are due
prepare "crawl: pause" as
with moved_before as materialized (
  select work."id" as id, work."status"::text as from_status, 'paused'::text as to_status,
    'pause'::text as event
  from "crawl" as work where work."id" = any($1::uuid[]) and work."status" in ('queued', 'started')
  order by work."id"::text collate "C" for no key update
), moved as (
  update "crawl" as work set "status" = before.to_status, "retry_at" = $3::timestamptz, "claim_token" = null,
    "claimed_by" = null, "attempts" = 0, "status_changed_at" = now(), "moved_by" = null, "modified_at" = now()
  from moved_before as before
  where work."id" = any(array(select id from moved_before)) and work."id" = before.id
  returning work."id" as id, before.from_status as from_status, before.to_status as to_status, before.event as event,
    $2::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'crawl', id, from_status, to_status, event, by from moved
) select id::text from moved;

-- "seal" from outside; $1 ids, $2 who, $3 when they are due
prepare "crawl: seal" as
with moved_before as materialized (
  select work."id" as id, work."status"::text as from_status, 'sealed'::text as to_status,
    'seal'::text as event
  from "crawl" as work where work."id" = any($1::uuid[]) and work."status" in ('queued', 'started', 'paused')
  order by work."id"::text collate "C" for no key update
), moved as (
  update "crawl" as work set "status" = before.to_status, "retry_at" = nullif($3::timestamptz, $3),
    "claim_token" = null, "claimed_by" = null, "attempts" = 0, "status_changed_at" = now(), "moved_by" = null,
    "modified_at" = now()
  from moved_before as before
  where work."id" = any(array(select id from moved_before)) and work."id" = before.id
  returning work."id" as id, before.from_status as from_status, before.to_status as to_status, before.event as event,
    $2::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'crawl', id, from_status, to_status, event, by from moved
) select id::text from moved;

-- "resume" from outside; $1 ids, $2 who, $3 when they are due
prepare "crawl: resume" as
with moved_before as materialized (
  select work."id" as id, work."status"::text as from_status, 'queued'::text as to_status,
    'resume'::text as event
  from "crawl" as work where work."id" = any($1::uuid[]) and work."status" in ('paused')
  order by work."id"::text collate "C" for no key update
), moved as (
  update "crawl" as work set "status" = before.to_status, "retry_at" = $3::timestamptz, "claim_token" = null,
    "claimed_by" = null, "attempts" = 0, "status_changed_at" = now(), "moved_by" = null, "modified_at" = now()
  from moved_before as before
  where work."id" = any(array(select id from moved_before)) and work."id" = before.id
  returning work."id" as id, before.from_status as from_status, before.to_status as to_status, before.event as event,
    $2::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'crawl', id, from_status, to_status, event, by from moved
) select id::text from moved;

-- claims the row that has been due the longest; $1 lease in seconds, $2, $3 cursor: schedule, id, $4 token, $5 owner,
--   $6 crawl worker, $7 data dir and $8 term of the fence
prepare "snapshot: claim 1" as
with fence as (select data_dir_id from runner_term where data_dir_id = $9 and term = $10 for share),
  due as materialized (
  select work."id" as id, work."retry_at" as was, work."claimed_by"::text as expired_owner from "snapshot" as work,
    fence
  where work."status" in ('queued', 'started') and work."retry_at" <= now() and work.crawl_id = (select id
    from crawl where claimed_by = $6 limit 1) and not exists (select from node where node.id = $7
    and node.state = 'draining') and case when (work.attempts = 3 and work.retry_at > now() - interval '15 minutes'
  and work.home_node is not null and exists (select from node where node.id <> work.home_node
    and node.state = 'active')) then work.home_node <> $8
else (work.home_node is null or work.home_node = $8 or not exists (
  select from node where node.id = work.home_node and node.state = 'active')) or not exists (
  select from archive_result where snapshot_id = work.id and node_id is not null) end and in_index_order()
    and (work."retry_at", work."id") >= ($2::timestamptz, $3::uuid)
  order by work."retry_at", work."id"
  limit 1
  for no key update of work skip locked
), changed as (
  update "snapshot" as work
  set "retry_at" = now() + make_interval(secs => $1), "claim_token" = $4, "claimed_by" = $5,
    "attempts" = work."attempts" + 1, "modified_at" = now()
  where work."id" = (select id from due)
  returning work.*
), taken as (
  select changed.*, due.was::text as engine_was, due.expired_owner as engine_expired_owner
  from changed join due on due.id = changed."id"
)
select taken.*, jsonb_build_object(
  'crawl', (
    select jsonb_build_object('id', id, 'max_depth', max_depth, 'max_size', max_size, 'config', config, 'output_dir',
      output_dir, 'unable', unable)
    from crawl where id = taken.crawl_id
  ),
  'former', array(
    select distinct parent_id from process
    where process.status in ('starting', 'running', 'draining')
      and data_dir_id = (select data_dir_id from fence) and process_type = 'hook' and parent_id is not null
      and (snapshot_id = taken.id
        or id in (select process_id from archive_result where snapshot_id = taken.id and status = 'started'))
  ),
  'earlier', (
    select s.output_dir from archived_page a join snapshot s on s.id = a.snapshot_id
    where a.url_hash = taken.url_hash and s.id <> taken.id and s.status is not distinct from 'sealed'
      and s.outcome in ('archived', 'partial')
    order by a.number desc limit 1
  ),
  'isNew', not exists (select from archive_result where snapshot_id = taken.id)
    and not exists (select from node where id <> (select data_dir_id from fence))
  ) as before from taken, (select set_config('synchronous_commit',
    coalesce(current_setting('archivebox.synchronous_commit', true), current_setting('synchronous_commit')),
    true)) as relaxed;

-- ends claims with the same step; $1 ids, $2 token, $3 from, $4 to, $5 event, $6 seconds until due, $7 who,
--   $8 attempts, $9... columns
prepare "snapshot: settle alike" as
with moved as (
  update "snapshot" as work set "status" = $4, "retry_at" = case $6::float8
    when 'infinity' then timestamptz '9999-01-01 00:00:00Z'
    else now() + make_interval(secs => $6) end,
    "claim_token" = null, "claimed_by" = null, "attempts" = $8, "status_changed_at" = case
      when $5 = '' then work."status_changed_at" else now() end, "outcome" = $9, "cause" = $10, "http_status" = $11,
      "moved_by" = $2, "modified_at" = now()
  where work."id" = any($1::uuid[]) and work."claim_token" = $2
and work."status" is not distinct from $3
  returning work."id" as id, $3::text as from_status, $4::text as to_status, $5::text as event,
    $7::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'snapshot', id, from_status, to_status, event, by from moved where event <> ''
)
select id::text from unnest($1::uuid[]) as asked (id)
where (select count(*) from moved) < cardinality($1::uuid[]) and id not in (select id from moved);

-- claims the row that has been due the longest; $1 lease in seconds, $2, $3 cursor: schedule, id, $4 token, $5 owner,
--   $6 machine, $7 data dir and $8 term of the fence
prepare "binary: claim 1" as
with fence as (select data_dir_id from runner_term where data_dir_id = $7 and term = $8 for share),
  due as materialized (
  select work."id" as id, work."retry_at" as was, work."claimed_by"::text as expired_owner from "binary" as work, fence
  where work."status" in ('queued') and work."retry_at" <= now() and work.machine_id = $6 and (work."retry_at",
    work."id") >= ($2::timestamptz, $3::uuid)
  order by work."retry_at", work."id"
  limit 1
  for no key update of work skip locked
), changed as (
  update "binary" as work
  set "retry_at" = now() + make_interval(secs => $1), "claim_token" = $4, "claimed_by" = $5,
    "attempts" = work."attempts" + 1, "modified_at" = now()
  where work."id" = (select id from due)
  returning work.*
), taken as (
  select changed.*, due.was::text as engine_was, due.expired_owner as engine_expired_owner
  from changed join due on due.id = changed."id"
)
select taken.* from taken, (select set_config('synchronous_commit',
  coalesce(current_setting('archivebox.synchronous_commit', true), current_setting('synchronous_commit')),
  true)) as relaxed;
