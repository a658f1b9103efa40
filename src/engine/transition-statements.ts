import type { Machine } from './machine.ts'
import type { Statement } from './sql.ts'
import { list, literal, named, type Table, tableOf } from './statements.ts'

/**
 * Parameters: ids, tokens, states before, states after, events, seconds until due (null: never again), who does it (uuid or null).
 * A whole batch of outcomes in one guarded statement; rows that are not ours any more are not in the answer.
 */
export function settleStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  const ifMoved = (column: string, then: string) =>
    `, ${column} = case when o.to_status <> o.from_status then ${then} else work.${column} end`
  return named(
    machine,
    'settle',
    `
    with outcome as (
      select * from unnest($1::${machine.idType}[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::float8[])
        as o (id, token, from_status, to_status, event, after_s)
    ), moved as (
      update ${t.name} as work
      set ${t.status} = o.to_status, ${t.retryAt} = now() + make_interval(secs => o.after_s), ${t.unclaim}${
        t.attempts ? ifMoved(t.attempts, '0') : ''
      }${t.changedAt ? ifMoved(t.changedAt, 'now()') : ''}${t.modified}
      from outcome o
      where work.${t.id} = o.id and work.${t.token} = o.token and work.${t.status} = o.from_status
      returning work.${t.id} as id, o.from_status, o.to_status, o.event, $7::uuid as by
    )${history(machine)}
    select id::text from moved`,
  )
}

/** Parameters: id, token, state before, state after, event, who does it. A change of state inside a claim that goes on. */
export function keepStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'keep',
    `
    with moved as (
      update ${t.name} set ${t.status} = $4${t.changed}${t.modified}
      where ${t.id} = $1 and ${t.token} = $2 and ${t.status} = $3
      returning ${t.id} as id, $3::text as from_status, $4::text as to_status, $5::text as event, $6::uuid as by
    )${history(machine)}
    select id::text from moved`,
  )
}

/**
 * Parameters: ids, when it is due again, who does it. An event from outside, on rows that nobody needs to have claimed: whoever has, loses the claim.
 * Null when no state offers this event.
 */
export function externalStatement(machine: Machine, event: string): Statement | null {
  const t = tableOf(machine)
  const edges = Object.entries(machine.states).flatMap(([state, def]) =>
    def.on?.[event] === undefined ? [] : [[state, def.on[event]] as const],
  )
  if (edges.length === 0) return null
  const target = `case before.from_status ${edges.map(([from, to]) => `when ${literal(from)} then ${literal(to)}`).join(' ')} end`
  return named(
    machine,
    event,
    `
    with before as (
      select ${t.id} as id, ${t.status} as from_status from ${t.name}
      where ${t.id} = any($1::${machine.idType}[]) and ${t.status} in (${list(edges.map(([from]) => from))}) for no key update
    ), moved as (
      update ${t.name} as work set ${t.status} = ${target}, ${t.retryAt} = $2, ${t.unclaim}${t.changed}${t.modified}
      from before where work.${t.id} = before.id
      returning work.${t.id} as id, before.from_status, ${target} as to_status, ${literal(event)} as event, $3::uuid as by
    )${history(machine)}
    select id::text from moved`,
  )
}

/** Parameters: limit, who does it. One statement for each state with a timeout: rows that nobody works on at this moment move along it. */
export function timeoutStatements(machine: Machine): Statement[] {
  const t = tableOf(machine)
  return Object.entries(machine.states).flatMap(([state, { timeout }]) => {
    if (!timeout) return []
    const target = machine.states[timeout.to]!
    const due = target.final ? 'null' : `now() + make_interval(secs => ${(target.startAfterMs ?? 0) / 1000})`
    const text = `
    with late as (
      select ${t.id} as id from ${t.name} where ${restingFor(t, state, timeout.afterMs)} limit $1 for no key update skip locked
    ), moved as (
      update ${t.name} as work set ${t.status} = ${literal(timeout.to)}, ${t.retryAt} = ${due}, ${t.unclaim}${t.changed}${t.modified}
      from late where work.${t.id} = late.id
      returning work.${t.id} as id, ${literal(state)} as from_status, ${literal(timeout.to)} as to_status, 'timeout' as event, $2::uuid as by
    )${history(machine)}
    select id::text from moved`
    return [named(machine, `timeout ${state}`, text)]
  })
}

/** Parameters: limit. One statement for each state whose rows are deleted some day. */
export function deleteStatements(machine: Machine): Statement[] {
  const t = tableOf(machine)
  return Object.entries(machine.states).flatMap(([state, { deleteAfterMs }]) => {
    if (deleteAfterMs === undefined) return []
    const text = `
    delete from ${t.name} where ${t.id} in (
      select ${t.id} from ${t.name} where ${restingFor(t, state, deleteAfterMs)} limit $1 for update skip locked
    )
    returning ${t.id}::text as id`
    return [named(machine, `delete ${state}`, text)]
  })
}

/** In this state for so long, and in nobody's hands. */
const restingFor = (t: Table, state: string, ms: number) =>
  `${t.status} = ${literal(state)} and ${t.changedAt} <= now() - make_interval(secs => ${ms / 1000}) and (${t.token} is null or ${t.retryAt} <= now())`

const history = (machine: Machine) =>
  machine.history
    ? `, logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select ${literal(machine.name)}, id, from_status, to_status, event, by from moved where from_status <> to_status
    )`
    : ''
