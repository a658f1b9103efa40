import type { Machine } from './machine.ts'
import type { Statement } from './sql.ts'
import { list, literal, named, quote, tableOf } from './table.ts'

/** One indexed count per state: cheaper than grouping a table in which most rows are final. */
export function countsStatement(machine: Machine, states: readonly string[]): Statement {
  const t = tableOf(machine)
  const each = states.map(
    (state) => `(select count(*) from ${t.name} where ${t.status} = ${literal(state)})::float8 as ${quote(state)}`,
  )
  return named(machine, 'counts', `select ${each.join(', ')}`)
}

/**
 * No parameters. Counts rows in states that the graph does not know; skips along the index from state to state, without
 * reading the rows.
 */
export function unknownStatement(machine: Machine): Statement {
  const t = tableOf(machine)
  return named(
    machine,
    'unknown',
    `
    with recursive present as (
      select min(${t.status}::text) as state from ${t.name}
      union all
      select (select min(${t.status}::text) from ${t.name} where ${t.status}::text > present.state) from present
        where present.state is not null
    )
    select state, (select count(*) from ${t.name} where ${t.status}::text = present.state)::float8 as count
    from present where state not in (${list(Object.keys(machine.states))})`,
  )
}
