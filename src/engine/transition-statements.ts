import { type Machine, vanishesIn } from './machine.ts'
import type { Statement } from './sql.ts'
import { assignments, list, literal, named, type Table, tableOf } from './table.ts'

/**
 * Parameters: ids, tokens, states before, states after, events ('': the row stays in its state), seconds until due
 * (null: never; infinity: until an event from outside), author (uuid or null), attempts from then on (when the table
 * counts them). Writes a whole batch of outcomes in one guarded statement. Returns the ids that are lost, because the
 * rows are no longer ours.
 */
export function settleStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  const counts = t.attempts
    ? { type: ', $8::int[]', name: ', attempts', set: `, ${t.attempts} = o.attempts` }
    : { type: '', name: '', set: '' }
  const changed = t.changedAt ? `, ${t.changedAt} = case when o.event = '' then work.${t.changedAt} else now() end` : ''
  const gone = Object.keys(machine.states).filter((state) => vanishesIn(machine, state))
  const ours = `work.${t.id} = any(array(select id from outcome)) -- as with claims: the same plan for every batch size
        and work.${t.id} = o.id and work.${t.token} = o.token and work.${t.status} = o.from_status`
  const ended = `returning work.${t.id} as id, o.from_status, o.to_status, o.event, $7::uuid as by`
  return named(
    machine,
    'settle',
    `
    with outcome as (
      select * from unnest($1::${machine.idType}[], $2::uuid[], $3::text[], $4::text[], $5::text[],
        $6::float8[]${counts.type})
        as o (id, token, from_status, to_status, event, after_s${counts.name})
    ), changed as (
      update ${t.name} as work
      set ${t.status} = o.to_status,
        ${t.retryAt} = case o.after_s when 'infinity' then ${FAR} else now() + make_interval(secs => o.after_s) end,
        ${t.unclaim}${counts.set}${changed}${t.moved('o.token')}${t.modified}
      from outcome o
      where ${ours}${gone.length > 0 ? ` and o.to_status not in (${list(gone)})` : ''}
      ${ended}
    )${
      gone.length > 0
        ? `, vanished as (
      delete from ${t.name} as work using outcome o where ${ours} and o.to_status in (${list(gone)}) ${ended}
    ), moved as (select * from changed union all select * from vanished)`
        : ', moved as (select * from changed)'
    }${history(machine)}
    ${lost(machine)}`,
  )
}

/**
 * Parameters: ids, token, state before, state after, event, seconds until due, author, attempts from then on (when the
 * table counts them), a value for each of these columns. The common batch: rows of one claim that all take the same
 * step. Half the work.
 * @param where an additional condition on the row, `work`
 */
export function settleAlikeStatement(machine: Machine, names: readonly string[], where?: string): Statement {
  return named(
    machine,
    'settle alike',
    `
    with ${settledAlike(machine, names, where)}
    ${lost(machine)}`,
  )
}

/** How many parameters `settleAlikeStatement` takes. */
export const settleAlikeParameters = (machine: Machine, names: readonly string[]) =>
  (tableOf(machine).attempts ? 8 : 7) + names.length

/** The rows that `settleAlikeStatement` moves, as `moved`, with their history. */
export function settledAlike(machine: Machine, names: readonly string[], where?: string): string {
  const t = tableOf(machine)
  const attempts = t.attempts ? `, ${t.attempts} = $8` : ''
  const fields = written(machine, names, t.attempts ? 9 : 8)
  const changed = t.changedAt ? `, ${t.changedAt} = case when $5 = '' then work.${t.changedAt} else now() end` : ''
  return `moved as (
      update ${t.name} as work
      set ${t.status} = $4, ${t.retryAt} = case $6::float8 when 'infinity' then ${FAR}
        else now() + make_interval(secs => $6) end,
        ${t.unclaim}${attempts}${changed}${fields}${t.moved('$2')}${t.modified}
      where ${oursAlike(machine, t)}${where === undefined ? '' : ` and ${where}`}
      ${endedAlike(t)}
    )${history(machine)}`
}

/**
 * Parameters: ids, token, state before, state after, event, author. The same for rows that are deleted by their last
 * step: no new version of the row, nothing to vacuum later.
 */
export function vanishAlikeStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'vanish alike',
    `
    with moved as (
      delete from ${t.name} as work where ${oursAlike(machine, t)} ${endedAlike(t, 6)}
    )${history(machine)}
    ${lost(machine)}`,
  )
}

/** Seldom any: a batch without losses returns nothing. */
const lost = ({ idType }: Machine) => `select id::text from unnest($1::${idType}[]) as asked (id)
    where (select count(*) from moved) < cardinality($1::${idType}[]) and id not in (select id from moved)`

const written = (machine: Machine, names: readonly string[], first: number) =>
  assignments(machine, names, first)
    .map((assignment) => `, ${assignment}`)
    .join('')

// "is not distinct from": with `=` a plan for these values may read a whole index of due rows, believed to be empty.
const oursAlike = (machine: Machine, t: Table) =>
  `work.${t.id} = any($1::${machine.idType}[]) and work.${t.token} = $2
    and work.${t.status} is not distinct from $3`
const endedAlike = (t: Table, byAt = 7) =>
  `returning work.${t.id} as id, ` +
  `$3::text as from_status, $4::text as to_status, $5::text as event, $${byAt}::uuid as by`

/**
 * Parameters: id, token, state before, state after, event, author, a value for each of these columns. A change of state
 * under a claim that continues.
 */
export function keepStatement(machine: Machine, names: readonly string[]): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'keep',
    `
    with moved as (
      update ${t.name} set ${t.status} = $4${t.changed}${written(machine, names, 7)}${t.moved('$2')}${t.modified}
      where ${t.id} = $1 and ${t.token} = $2 and ${t.status} is not distinct from $3
      returning ${t.id} as id, $3::text as from_status, $4::text as to_status, $5::text as event, $6::uuid as by
    )${history(machine)}
    select id::text from moved`,
  )
}

/** Parameters: ids, tokens, states. Which of these rows reached that state by the last move under that token. */
export function movedStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'moved',
    `
    select work.${t.id}::text as id from ${t.name} as work
    join unnest($1::${machine.idType}[], $2::uuid[], $3::text[]) as asked (id, token, to_status)
      on work.${t.id} = asked.id and work.${t.movedBy} = asked.token and work.${t.status} = asked.to_status
    where work.${t.id} = any($1::${machine.idType}[])`,
  )
}

/**
 * Parameters: ids, author and, if `scheduled`, when it is due again. An event from outside on rows that need not be
 * claimed: whoever holds one loses the claim. Null when no state offers this event.
 */
export function externalStatement(machine: Machine, event: string, scheduled: boolean): Statement | null {
  const t = tableOf(machine)
  const edges = Object.entries(machine.states).flatMap(([state, def]) =>
    Object.hasOwn(def.on ?? {}, event) ? [{ from: state, to: def.on![event]! }] : [],
  )
  if (edges.length === 0) return null
  const perState = (value: (to: string) => string) =>
    `case before.from_status ${edges.map(({ from, to }) => `when ${literal(from)} then ${value(to)}`).join(' ')} end`
  const target = perState(literal)
  // A final state has no schedule; the parameter is mentioned all the same, since it is passed.
  const asked = (to: string) => (machine.states[to]!.final ? 'nullif($3::timestamptz, $3)' : '$3::timestamptz')
  const due = perState((to) => (scheduled ? asked(to) : dueIn(machine, to)))
  // Locks rows in the same order as batches of outcomes, so that they cannot deadlock.
  return named(
    machine,
    event,
    `
    with before as (
      select ${t.id} as id, ${t.status}::text as from_status from ${t.name}
      where ${t.id} = any($1::${machine.idType}[]) and ${t.status} in (${list(edges.map(({ from }) => from))})
      order by ${t.id}::text collate "C" for no key update
    ), moved as (
      update ${t.name} as work set ${t.status} = ${target}, ${t.retryAt} = ${due}, ${entered(t)}
      from before where work.${t.id} = before.id
      returning work.${t.id} as id, before.from_status, ${target} as to_status, ${literal(event)} as event,
        $2::uuid as by
    )${history(machine)}
    select id::text from moved`,
  )
}

/** Parameters: limit, author. Moves unclaimed rows along their state's timeout. Null when the state has none. */
export function timeoutStatement(machine: Machine, state: string): Statement | null {
  const t = tableOf(machine)
  const timeout = machine.states[state]?.timeout
  if (!timeout) return null
  return named(
    machine,
    `timeout ${state}`,
    `
    with late as materialized (
      select ${t.id} as id from ${t.name} where ${restingFor(t, state, timeout.afterMs)}
        limit $1 for no key update skip locked
    ), moved as (
      update ${t.name} as work set ${t.status} = ${literal(timeout.to)}, ${t.retryAt} = ${dueIn(machine, timeout.to)},
        ${entered(t)}
      from late where work.${t.id} = late.id
      returning work.${t.id} as id, ${literal(state)} as from_status, ${literal(timeout.to)} as to_status,
        'timeout' as event, $2::uuid as by
    )${history(machine)}
    select id::text from moved`,
  )
}

/** Parameters: limit. One statement for each state whose rows are deleted after some time. */
export function deleteStatements(machine: Machine): Statement[] {
  const t = tableOf(machine)
  return Object.entries(machine.states).flatMap(([state, { deleteAfterMs }]) => {
    if (deleteAfterMs === undefined) return []
    const text = `
    with old as materialized (
      select ${t.id} as id from ${t.name} where ${restingFor(t, state, deleteAfterMs)} limit $1 for update skip locked
    )
    delete from ${t.name} as work using old where work.${t.id} = old.id
    returning work.${t.id}::text as id`
    return [named(machine, `delete ${state}`, text)]
  })
}

/** In this state for that long, and unclaimed. */
function restingFor(t: Table, state: string, ms: number): string {
  const since = ms > 0 ? ` and ${t.changedAt} <= now() - make_interval(secs => ${ms / 1000})` : ''
  return `${t.status} = ${literal(state)}${since} and (${t.token} is null or ${t.retryAt} <= now())`
}

/** The schedule of rows that only an event from outside moves. */
const FAR = `timestamptz '9999-01-01 00:00:00Z'`

/** When a row that enters this state is due. */
function dueIn(machine: Machine, state: string): string {
  const { final, external, startAfterMs } = machine.states[state]!
  return final ? 'null::timestamptz' : external ? FAR : `now() + make_interval(secs => ${(startAfterMs ?? 0) / 1000})`
}

/** A row that enters a state from outside or by a timeout has no claim and a new count of attempts. */
const entered = (t: Table) =>
  `${t.unclaim}${t.attempts ? `, ${t.attempts} = 0` : ''}${t.changed}${t.moved('null')}${t.modified}`

const history = (machine: Machine) =>
  machine.history
    ? `, logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select ${literal(machine.name)}, id, from_status, to_status, event, by from moved where event <> ''
    )`
    : ''
