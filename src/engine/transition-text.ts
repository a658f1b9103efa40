import type { Machine } from './machine.ts'
import { type Text, text } from './sql.ts'
import { literal, type Table, tableOf } from './table.ts'

// The common parts of the statements that move rows.

/** A change of rows, as a common table expression of a statement, from which the moved rows are read. */
export interface Change<X> {
  readonly as: string
  readonly set: Text<X>
  /** The other items that it reads, and which rows (`work`) it moves. */
  readonly from?: Text<X>
  readonly where: Text<X>
  /** The states before and after, and the event. */
  readonly edge: readonly [from: string, to: string, event: string]
  /** The author, a uuid or null. */
  readonly by: Text<X>
  readonly returning?: Text<X> | undefined
}

export function updated<X = never>(machine: Machine, change: Change<X>): (string | X)[] {
  const { as, set, from, where, edge, by, returning } = change
  const t = tableOf(machine)
  const [before, after, event] = edge
  return text<X>`${as} as (
      update ${t.name} as work set ${set}${
        from === undefined
          ? []
          : text<X>`
      from ${from}`
      }
      where ${where}
      returning work.${t.id} as id, ${before} as from_status, ${after} as to_status, ${event} as event,
        ${by}::uuid as by${returning === undefined ? [] : text<X>`, ${returning}`}
    )`
}

/**
 * Writes a line for each moved row to the log; nothing for a graph without a history.
 * @param where which of the rows
 */
export function history(machine: Machine, as: string, where?: string): string {
  if (!machine.history) return ''
  return `, ${as}_logged as (
      insert into transition (model, row_id, from_status, to_status, event, process_id)
      select ${literal(machine.name)}, id, from_status, to_status, event, by from ${as}${
        where === undefined ? '' : ` where ${where}`
      }
    )`
}

/** The schedule of rows that only an event from outside moves. */
export const FAR = `timestamptz '9999-01-01 00:00:00Z'`

/** When a row that enters this state is due. */
export function dueIn(machine: Machine, state: string): string {
  const { final, external, startAfterMs } = machine.states[state]!
  return final ? 'null::timestamptz' : external ? FAR : `now() + make_interval(secs => ${(startAfterMs ?? 0) / 1000})`
}

/** A row that enters a state from outside or by a timeout has no claim and a new count of attempts. */
export const entered = (t: Table) =>
  `${t.unclaim}${t.attempts ? `, ${t.attempts} = 0` : ''}${t.changed}${t.moved('null')}${t.modified}`

/** The order in which batches of outcomes lock rows: a statement with another one risks a deadlock. */
export const lockOrder = (id: string) => `order by ${id}::text collate "C"`
