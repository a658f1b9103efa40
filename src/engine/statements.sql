-- What the state engine sends, for a graph that has everything a graph can have.
-- Written by scripts/write-statements.ts. To try one: paste the file into psql, then execute "job: claim 1"(...).

create temporary table job (
  id          bigint generated always as identity primary key,
  kind        text not null,
  status      text not null default 'queued',
  retry_at    timestamptz default now(),
  claim_token uuid,
  owner       text,
  attempts    int not null default 0,
  changed_at  timestamptz not null default now(),
  moved_by    uuid,
  modified_at timestamptz not null default now()
);
create temporary table transition (
  model text, row_id text, from_status text, to_status text, event text, process_id uuid
);

-- claims rows; $1 lease in seconds, $2, $3 cursor: schedule, id, $4 token, $5 owner, $6 value of `where`,
--   $7 value of `fence`
prepare "job: claim 10" as
with fence as (select 1 from job where id = $7 for share), due as materialized (
  select work."id" as id, work."retry_at" as was, work."owner"::text as expired_owner from "job" as work, fence
  where work."status" in ('queued', 'started') and work."retry_at" <= now() and work.kind = $6 and (work."retry_at",
    work."id") >= ($2::timestamptz, $3::bigint)
  order by work."retry_at", work."id"
  limit 10
  for no key update of work skip locked
), changed as (
  update "job" as work
  set "retry_at" = now() + make_interval(secs => $1), "claim_token" = $4, "owner" = $5,
    "attempts" = work."attempts" + 1, "modified_at" = now()
  where work."id" = any(array(select id from due))
  returning work.*
), taken as (
  select changed.*, due.was::text as engine_was, due.expired_owner as engine_expired_owner
  from changed join due on due.id = changed."id"
)
select taken.* from taken, (select set_config('synchronous_commit',
  coalesce(current_setting('archivebox.synchronous_commit', true), current_setting('synchronous_commit')),
  true)) as relaxed;

-- claims one row; $1 lease in seconds, $2, $3 cursor: schedule, id, $4 token, $5 owner, $6 value of `where`,
--   $7 value of `fence`
prepare "job: claim 1" as
with fence as (select 1 from job where id = $7 for share), due as materialized (
  select work."id" as id, work."retry_at" as was, work."owner"::text as expired_owner from "job" as work, fence
  where work."status" in ('queued', 'started') and work."retry_at" <= now() and work.kind = $6 and (work."retry_at",
    work."id") >= ($2::timestamptz, $3::bigint)
  order by work."retry_at", work."id"
  limit 1
  for no key update of work skip locked
), changed as (
  update "job" as work
  set "retry_at" = now() + make_interval(secs => $1), "claim_token" = $4, "owner" = $5,
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

-- claims this very row; $1 lease in seconds, $2 id, $3 token, $4 owner, $5 and $6 values of `where` and `fence`
prepare "job: claim row" as
with fence as (select 1 from job where id = $6 for share), due as materialized (select work."id" as id,
  work."retry_at" as was, work."owner"::text as expired_owner from "job" as work, fence
  where work."status" in ('queued', 'started') and work."retry_at" <= now() and work.kind = $5
  and work."id" = $2::bigint for no key update of work), changed as (
  update "job" as work
  set "retry_at" = now() + make_interval(secs => $1), "claim_token" = $3, "owner" = $4,
    "attempts" = work."attempts" + 1, "modified_at" = now()
  where work."id" = (select id from due)
  returning work.*
), taken as (
  select changed.*, due.was::text as engine_was, due.expired_owner as engine_expired_owner
  from changed join due on due.id = changed."id"
)
  select taken.* from taken;

-- claims one of the first twenty rows, at random; $1 lease in seconds, $2, $3 cursor: schedule, id, $4 token,
--   $5 owner, $6 value of `where`, $7 value of `fence`
prepare "job: pick 20" as
with fence as (select 1 from job where id = $7 for share), top as materialized (
  select work."id" as id, work."retry_at" as was, work."owner"::text as expired_owner from "job" as work, fence
  where work."status" in ('queued', 'started') and work."retry_at" <= now() and work.kind = $6 and (work."retry_at",
    work."id") >= ($2::timestamptz, $3::bigint) order by work."retry_at", work."id" limit 20
), due as materialized (
  select id, (select min(was) from top) as was, expired_owner from top order by random() limit 1
), changed as (
  update "job" as work
  set "retry_at" = now() + make_interval(secs => $1), "claim_token" = $4, "owner" = $5,
    "attempts" = work."attempts" + 1, "modified_at" = now()
  where work."id" = (select id from due) and work."status" in ('queued', 'started') and work."retry_at" <= now()
  returning work.*
), taken as (
  select changed.*, due.was::text as engine_was, due.expired_owner as engine_expired_owner
  from changed join due on due.id = changed."id"
)
select taken.* from due left join taken on true;

-- ends a claim and claims the next row; $1 id, as an array, $2 token, $3 from, $4 to, $5 event, $6 seconds until due,
--   $7 who, $8 attempts, $9 lease in seconds, $10, $11 cursor, $12 token, $13 owner, $14 value of `where`,
--   $15 value of `fence`
prepare "job: settle and claim" as
with moved as (
  update "job" as work set "status" = $4, "retry_at" = case $6::float8
    when 'infinity' then timestamptz '9999-01-01 00:00:00Z'
    else now() + make_interval(secs => $6) end,
    "claim_token" = null, "owner" = null, "attempts" = $8, "changed_at" = case when $5 = '' then work."changed_at"
      else now() end, "moved_by" = $2, "modified_at" = now()
  where work."id" = any($1::bigint[]) and work."claim_token" = $2
and work."status" is not distinct from $3
  returning work."id" as id, $3::text as from_status, $4::text as to_status, $5::text as event,
    $7::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'job', id, from_status, to_status, event, by from moved where event <> ''
), fence as (select 1 from job where id = $15 for share), due as materialized (
  select work."id" as id, work."retry_at" as was, work."owner"::text as expired_owner from "job" as work, fence
  where work."status" in ('queued', 'started') and work."retry_at" <= now() and work.kind = $14 and (work."retry_at",
    work."id") >= ($10::timestamptz, $11::bigint) and exists (select from moved)
  order by work."retry_at", work."id"
  limit 1
  for no key update of work skip locked
), changed as (
  update "job" as work
  set "retry_at" = now() + make_interval(secs => $9), "claim_token" = $12, "owner" = $13,
    "attempts" = work."attempts" + 1, "modified_at" = now()
  where work."id" = (select id from due)
  returning work.*
), taken as (
  select changed.*, due.was::text as engine_was, due.expired_owner as engine_expired_owner
  from changed join due on due.id = changed."id"
)
select exists (select from moved) as engine_ended, taken.*
from (values (true)) as one left join taken on true;

-- shows what is due; $1 limit, $2 value of `where`
prepare "job: due" as
select work.* from "job" as work where work."status" in ('queued', 'started') and work."retry_at" <= now()
  and work.kind = $2 order by work."retry_at", work."id" limit $1;

-- writes another column of a claimed row; $1 id, $2 token, $3 state, $4 value
prepare "job: update" as
update "job" set "kind" = $4, "modified_at" = now()
where "id" = $1 and "claim_token" = $2 and "status" is not distinct from $3 returning "id"::text as id;

-- renews claims; $1 ids, $2 tokens, $3 lease in seconds
prepare "job: renew" as
update "job" as work set "retry_at" = now() + make_interval(secs => $3)
from unnest($1::bigint[], $2::uuid[]) as held (id, token)
where work."id" = any($1::bigint[]) -- as with claims: no plan may depend on how large the batch is
  and work."id" = held.id and work."claim_token" = held.token
returning work."id"::text as id;

-- gives a claim back; $1 id, $2 token, $3 delay in seconds, $4 does the attempt count?
prepare "job: release" as
update "job" set "retry_at" = now() + make_interval(secs => $3), "claim_token" = null, "owner" = null,
  "attempts" = case when $4::boolean then "attempts" else greatest("attempts" - 1, 0) end, "modified_at" = now()
where "id" = $1 and "claim_token" = $2
returning "id"::text as id;

-- undoes a claim whose answer was lost; $1 token, $2 owner
prepare "job: unclaim" as
update "job" set "retry_at" = now(), "claim_token" = null, "owner" = null, "attempts" = "attempts" - 1
where "owner" = $2 and "claim_token" = $1
returning "id"::text as id;

-- shows which owners hold a row, and who is late; $1 owners, $2 seconds
prepare "job: holders" as
select "owner"::text as owner, bool_or("retry_at" < now() - make_interval(secs => $2)) as late
from "job" where "owner" = any($1) group by 1;

-- forgets the attempts before this one; $1 id, $2 token
prepare "job: forget" as
update "job" set "attempts" = 1 where "id" = $1 and "claim_token" = $2 and "attempts" > 1
returning "id"::text as id;

-- shows which rows came to a state under a token; $1 ids, $2 tokens, $3 states
prepare "job: moved" as
select work."id"::text as id from "job" as work
join unnest($1::bigint[], $2::uuid[], $3::text[]) as asked (id, token, to_status)
  on work."id" = asked.id and work."moved_by" = asked.token and work."status" = asked.to_status
where work."id" = any($1::bigint[]);

-- makes due again what dead owners claimed; $1 owners, $2 does the attempt count?
prepare "job: requeue" as
update "job" set "retry_at" = now(), "claim_token" = null, "owner" = null, "attempts" = case
  when $2::boolean then "attempts" else greatest("attempts" - 1, 0) end, "modified_at" = now()
where "owner" = any($1)
returning "id"::text as id;

-- moves a row into another state, where its claim goes on; $1 id, $2 token, $3 from, $4 to, $5 event, $6 who
prepare "job: keep" as
with moved as (
  update "job" as work set "status" = $4, "changed_at" = now(), "moved_by" = $2, "modified_at" = now()
  where work."id" = $1 and work."claim_token" = $2 and work."status" is not distinct from $3
  returning work."id" as id, $3::text as from_status, $4::text as to_status, $5::text as event,
    $6::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'job', id, from_status, to_status, event, by from moved where event <> ''
)
select id::text from moved;

-- ends claims with the same step; $1 ids, $2 token, $3 from, $4 to, $5 event, $6 seconds until due, $7 who,
--   $8 attempts, $9... columns
prepare "job: settle alike" as
with moved as (
  update "job" as work set "status" = $4, "retry_at" = case $6::float8
    when 'infinity' then timestamptz '9999-01-01 00:00:00Z'
    else now() + make_interval(secs => $6) end,
    "claim_token" = null, "owner" = null, "attempts" = $8, "changed_at" = case when $5 = '' then work."changed_at"
      else now() end, "moved_by" = $2, "modified_at" = now()
  where work."id" = any($1::bigint[]) and work."claim_token" = $2
and work."status" is not distinct from $3
  returning work."id" as id, $3::text as from_status, $4::text as to_status, $5::text as event,
    $7::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'job', id, from_status, to_status, event, by from moved where event <> ''
)
select id::text from unnest($1::bigint[]) as asked (id)
where (select count(*) from moved) < cardinality($1::bigint[]) and id not in (select id from moved);

-- "start" from outside; $1 ids, $2 who, $3 when they are due
prepare "job: start" as
with moved_before as materialized (
  select work."id" as id, work."status"::text as from_status, 'started'::text as to_status,
    'start'::text as event
  from "job" as work where work."id" = any($1::bigint[]) and work."status" in ('queued')
  order by work."id"::text collate "C" for no key update
), moved as (
  update "job" as work set "status" = before.to_status, "retry_at" = $3::timestamptz, "claim_token" = null,
    "owner" = null, "attempts" = 0, "changed_at" = now(), "moved_by" = null, "modified_at" = now()
  from moved_before as before
  where work."id" = any(array(select id from moved_before)) and work."id" = before.id
  returning work."id" as id, before.from_status as from_status, before.to_status as to_status, before.event as event,
    $2::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'job', id, from_status, to_status, event, by from moved
) select id::text from moved;

-- "pause" from outside; $1 ids, $2 who, $3 when they are due
prepare "job: pause" as
with moved_before as materialized (
  select work."id" as id, work."status"::text as from_status, 'paused'::text as to_status,
    'pause'::text as event
  from "job" as work where work."id" = any($1::bigint[]) and work."status" in ('queued')
  order by work."id"::text collate "C" for no key update
), moved as (
  update "job" as work set "status" = before.to_status, "retry_at" = $3::timestamptz, "claim_token" = null,
    "owner" = null, "attempts" = 0, "changed_at" = now(), "moved_by" = null, "modified_at" = now()
  from moved_before as before
  where work."id" = any(array(select id from moved_before)) and work."id" = before.id
  returning work."id" as id, before.from_status as from_status, before.to_status as to_status, before.event as event,
    $2::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'job', id, from_status, to_status, event, by from moved
) select id::text from moved;

-- "finish" from outside; $1 ids, $2 who, $3 when they are due
prepare "job: finish" as
with moved_before as materialized (
  select work."id" as id, work."status"::text as from_status, 'done'::text as to_status,
    'finish'::text as event
  from "job" as work where work."id" = any($1::bigint[]) and work."status" in ('started')
  order by work."id"::text collate "C" for no key update
), moved as (
  update "job" as work set "status" = before.to_status, "retry_at" = nullif($3::timestamptz, $3), "claim_token" = null,
    "owner" = null, "attempts" = 0, "changed_at" = now(), "moved_by" = null, "modified_at" = now()
  from moved_before as before
  where work."id" = any(array(select id from moved_before)) and work."id" = before.id
  returning work."id" as id, before.from_status as from_status, before.to_status as to_status, before.event as event,
    $2::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'job', id, from_status, to_status, event, by from moved
) select id::text from moved;

-- "drop" from outside; $1 ids, $2 who, $3 when they are due
prepare "job: drop" as
with moved_before as materialized (
  select work."id" as id, work."status"::text as from_status, 'dropped'::text as to_status,
    'drop'::text as event
  from "job" as work where work."id" = any($1::bigint[]) and work."status" in ('started')
  order by work."id"::text collate "C" for no key update
), moved as (
  update "job" as work set "status" = before.to_status, "retry_at" = nullif($3::timestamptz, $3), "claim_token" = null,
    "owner" = null, "attempts" = 0, "changed_at" = now(), "moved_by" = null, "modified_at" = now()
  from moved_before as before
  where work."id" = any(array(select id from moved_before)) and work."id" = before.id
  returning work."id" as id, before.from_status as from_status, before.to_status as to_status, before.event as event,
    $2::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'job', id, from_status, to_status, event, by from moved
) select id::text from moved;

-- "resume" from outside; $1 ids, $2 who, $3 when they are due
prepare "job: resume" as
with moved_before as materialized (
  select work."id" as id, work."status"::text as from_status, 'queued'::text as to_status,
    'resume'::text as event
  from "job" as work where work."id" = any($1::bigint[]) and work."status" in ('paused')
  order by work."id"::text collate "C" for no key update
), moved as (
  update "job" as work set "status" = before.to_status, "retry_at" = $3::timestamptz, "claim_token" = null,
    "owner" = null, "attempts" = 0, "changed_at" = now(), "moved_by" = null, "modified_at" = now()
  from moved_before as before
  where work."id" = any(array(select id from moved_before)) and work."id" = before.id
  returning work."id" as id, before.from_status as from_status, before.to_status as to_status, before.event as event,
    $2::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'job', id, from_status, to_status, event, by from moved
) select id::text from moved;

-- ends claims, each with its own step; $1 ids, $2 tokens, $3 from, $4 to, $5 events, $6 seconds until due, $7 who,
--   $8 attempts
prepare "job: settle" as
with outcome as (
  select * from unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[],
    $6::float8[], $8::int[])
    as o (id, token, from_status, to_status, event, after_s, attempts)
), changed as (
  update "job" as work set "status" = o.to_status,
    "retry_at" = case o.after_s when 'infinity' then timestamptz '9999-01-01 00:00:00Z'
      else now() + make_interval(secs => o.after_s) end,
    "claim_token" = null, "owner" = null, "attempts" = o.attempts, "changed_at" = case
      when o.event = '' then work."changed_at" else now() end, "moved_by" = o.token, "modified_at" = now()
  from outcome o
  where work."id" = any(array(select id from outcome)) -- as with claims: the same plan for every batch size
    and work."id" = o.id and work."claim_token" = o.token and work."status" = o.from_status
      and o.to_status not in ('dropped')
  returning work."id" as id, o.from_status as from_status, o.to_status as to_status, o.event as event,
    $7::uuid as by
), vanished as (
  delete from "job" as work using outcome o where work."id" = any(array(select id
    from outcome)) -- as with claims: the same plan for every batch size
    and work."id" = o.id and work."claim_token" = o.token and work."status" = o.from_status
      and o.to_status in ('dropped')
  returning work."id" as id, o.from_status as from_status, o.to_status as to_status, o.event as event, $7::uuid as by
), moved as (select * from changed union all select * from vanished), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'job', id, from_status, to_status, event, by from moved where event <> ''
)
select id::text from unnest($1::bigint[]) as asked (id)
where (select count(*) from moved) < cardinality($1::bigint[]) and id not in (select id from moved);

-- ends claims by deleting the rows; $1 ids, $2 token, $3 from, $4 to, $5 event, $6 who
prepare "job: vanish alike" as
with moved as (
  delete from "job" as work where work."id" = any($1::bigint[]) and work."claim_token" = $2
and work."status" is not distinct from $3 returning work."id" as id, $3::text as from_status, $4::text as to_status,
  $5::text as event, $6::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'job', id, from_status, to_status, event, by from moved where event <> ''
)
select id::text from unnest($1::bigint[]) as asked (id)
where (select count(*) from moved) < cardinality($1::bigint[]) and id not in (select id from moved);

-- moves rows along a timeout; $1 limit, $2 who
prepare "job: timeout started" as
with late as materialized (
  select "id" as id from "job" where "status" = 'started' and "changed_at" <= now() - make_interval(secs => 3600)
    and ("claim_token" is null or "retry_at" <= now())
    limit $1 for no key update skip locked
), moved as (
  update "job" as work set "status" = 'failed', "retry_at" = null::timestamptz, "claim_token" = null, "owner" = null,
    "attempts" = 0, "changed_at" = now(), "moved_by" = null, "modified_at" = now()
  from late
  where work."id" = late.id
  returning work."id" as id, 'started'::text as from_status, 'failed'::text as to_status, 'timeout'::text as event,
    $2::uuid as by
), moved_logged as (
  insert into transition (model, row_id, from_status, to_status, event, process_id)
  select 'job', id, from_status, to_status, event, by from moved where event <> ''
)
select id::text from moved;

-- deletes old rows; $1 limit
prepare "job: delete done" as
with old as materialized (
  select "id" as id from "job" where "status" = 'done' and "changed_at" <= now() - make_interval(secs => 86400)
    and ("claim_token" is null or "retry_at" <= now()) limit $1 for update skip locked
)
delete from "job" as work using old where work."id" = old.id
returning work."id"::text as id;

-- deletes old rows; $1 limit
prepare "job: delete dropped" as
with old as materialized (
  select "id" as id from "job" where "status" = 'dropped' and ("claim_token" is null or "retry_at" <= now())
    limit $1 for update skip locked
)
delete from "job" as work using old where work."id" = old.id
returning work."id"::text as id;

-- counts rows by state
prepare "job: counts" as
select (select count(*) from "job" where "status" = 'queued')::float8 as "queued", (select count(*) from "job"
  where "status" = 'started')::float8 as "started", (select count(*) from "job"
  where "status" = 'paused')::float8 as "paused", (select count(*) from "job"
  where "status" = 'done')::float8 as "done", (select count(*) from "job"
  where "status" = 'dropped')::float8 as "dropped", (select count(*) from "job"
  where "status" = 'failed')::float8 as "failed";

-- counts rows in states that the graph does not know
prepare "job: unknown" as
with recursive present as (
  select min("status"::text) as state from "job"
  union all
  select (select min("status"::text) from "job" where "status"::text > present.state) from present
    where present.state is not null
)
select state, (select count(*) from "job" where "status"::text = present.state)::float8 as count
from present where state not in ('queued', 'started', 'paused', 'done', 'dropped', 'failed');
