import { type Machine, vanishesIn } from './machine.ts'
import { edgesOf, movedAlong } from './moved.ts'
import type { Statement } from './sql.ts'
import { assignments, list, literal, named, type Table, tableOf } from './table.ts'
import { dueIn, entered, FAR, history, updated } from './transition-text.ts'

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
  const edge = ['o.from_status', 'o.to_status', 'o.event'] as const
  const set = `${t.status} = o.to_status,
        ${t.retryAt} = case o.after_s when 'infinity' then ${FAR} else now() + make_interval(secs => o.after_s) end,
        ${t.unclaim}${counts.set}${changed}${t.moved('o.token')}${t.modified}`
  const as = gone.length > 0 ? 'changed' : 'moved'
  const where = `${ours}${gone.length > 0 ? ` and o.to_status not in (${list(gone)})` : ''}`
  return named(
    machine,
    'settle',
    `
    with outcome as (
      select * from unnest($1::${machine.idType}[], $2::uuid[], $3::text[], $4::text[], $5::text[],
        $6::float8[]${counts.type})
        as o (id, token, from_status, to_status, event, after_s${counts.name})
    ), ${plain(updated(machine, { as, set, from: 'outcome o', where, edge, by: '$7' }))}${
      gone.length > 0
        ? `, vanished as (
      delete from ${t.name} as work using outcome o where ${ours} and o.to_status in (${list(gone)})
      ${returned(t, edge, '$7')}
    ), moved as (select * from changed union all select * from vanished)`
        : ''
    }${logged(machine)}
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
  const set = `${t.status} = $4, ${t.retryAt} = case $6::float8 when 'infinity' then ${FAR}
        else now() + make_interval(secs => $6) end,
        ${t.unclaim}${attempts}${changed}${fields}${t.moved('$2')}${t.modified}`
  const ours = `${oursAlike(machine, t)}${where === undefined ? '' : ` and ${where}`}`
  return `${plain(updated(machine, { as: 'moved', set, where: ours, edge: ALIKE, by: '$7' }))}${logged(machine)}`
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
      delete from ${t.name} as work where ${oursAlike(machine, t)} ${returned(t, ALIKE, '$6')}
    )${logged(machine)}
    ${lost(machine)}`,
  )
}

const plain = (parts: readonly string[]) => parts.join('')

/** The answer about a row that its last step deletes. */
const returned = (t: Table, [from, to, event]: readonly string[], by: string) =>
  `returning work.${t.id} as id, ${from} as from_status, ${to} as to_status, ${event} as event, ${by}::uuid as by`

/** The log of `moved`: an outcome without an event stays where it is. */
const logged = (machine: Machine) => history(machine, 'moved', `event <> ''`)

/** Rarely any: a batch without losses returns nothing. */
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
/** States and event of rows that all take the same step. */
const ALIKE = ['$3::text', '$4::text', '$5::text'] as const

/**
 * Parameters: id, token, state before, state after, event, author, a value for each of these columns. A change of state
 * under a claim that continues.
 */
export function keepStatement(machine: Machine, names: readonly string[]): Statement {
  const t = tableOf(machine)
  const set = `${t.status} = $4${t.changed}${written(machine, names, 7)}${t.moved('$2')}${t.modified}`
  const where = `work.${t.id} = $1 and work.${t.token} = $2 and work.${t.status} is not distinct from $3`
  return named(
    machine,
    'keep',
    `
    with ${plain(updated(machine, { as: 'moved', set, where, edge: ALIKE, by: '$6' }))}${logged(machine)}
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
 x
 */
export function externalStatement(machine: Machine, event: string, scheduled: boolean): Statement | null {
  const edges = edgesOf(machine, workedOn(machine), event)
  if (edges.length === 0) return null
  // A final state has no schedule; the parameter is mentioned all the same, since it is passed.
  const asked = (to: string) => (machine.states[to]!.final ? 'nullif($3::timestamptz, $3)' : '$3::timestamptz')
  const how = { as: 'moved', rows: `$1::${machine.idType}[]`, by: '$2' }
  const due = scheduled ? asked : (to: string) => dueIn(machine, to)
  return named(machine, event, `with ${plain(movedAlong(machine, edges, how, due))} select id::text from moved`)
}

/** The states whose edges may be requested from outside. */
const workedOn = ({ states }: Machine) => Object.keys(states).filter((state) => !states[state]!.final)

/** Parameters: limit, author. Moves unclaimed rows along their state's timeout. Null when the state has none. */
export function timeoutStatement(machine: Machine, state: string): Statement | null {
  const t = tableOf(machine)
  const timeout = machine.states[state]?.timeout
  if (!timeout) return null
  const set = `${t.status} = ${literal(timeout.to)}, ${t.retryAt} = ${dueIn(machine, timeout.to)}, ${entered(t)}`
  const where = `work.${t.id} = late.id`
  const edge = [state, timeout.to, 'timeout'].map((part) => `${literal(part)}::text`) as [string, string, string]
  return named(
    machine,
    `timeout ${state}`,
    `
    with late as materialized (
      select ${t.id} as id from ${t.name} where ${restingFor(t, state, timeout.afterMs)}
        limit $1 for no key update skip locked
    ), ${plain(updated(machine, { as: 'moved', set, from: 'late', where, edge, by: '$2' }))}${logged(machine)}
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
