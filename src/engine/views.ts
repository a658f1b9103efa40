import { order, type QueueOptions } from './claim-statements.ts'
import { finalStates, type Machine, workStates } from './machine.ts'
import type { Sql } from './sql.ts'
import { isDue, list, named, tableOf } from './table.ts'

/** A subset of the rows of a table, by what happens to them next. */
export interface QueueView<Row> {
  /** How many rows; counts no further than `atMost`. */
  count(atMost?: number): Promise<number>
  rows(limit: number): Promise<Row[]>
}

/**
 * - `pending`: due, so that the next claim may take it; includes stalled rows
 * - `stalled`: due although claimed: its owner let the lease expire
 * - `future`: unclaimed and due later: scheduled, or after a failure
 * - `active`: being worked on
 * - `final`: its life is over
 */
export type ViewName = 'pending' | 'stalled' | 'future' | 'active' | 'final'

/**
 * The views of a queue. ArchiveBox distinguishes active from future by status; the token is exact.
 * @param values those of the queue's `where`
 */
export function viewsOf<Row>(
  machine: Machine,
  sql: Sql,
  options: QueueOptions = {},
  values: () => readonly unknown[] = () => [],
): Readonly<Record<ViewName, QueueView<Row>>> {
  const t = tableOf(machine)
  const work = `work.${t.status} in (${list(workStates(machine))})`
  const view = (name: ViewName, condition: string): QueueView<Row> => {
    const from = `from ${t.name} as work where ${condition}${options.where ? ` and ${options.where(2)}` : ''}`
    const count = named(
      machine,
      `count ${name}`,
      `select count(*)::float8 as count from (select 1 ${from} limit $1) as seen`,
    )
    const rows = named(machine, name, `select work.* ${from} order by ${order(t, options)} limit $1`)
    return {
      count: async (atMost) => (await sql.query<{ count: number }>(count, [atMost ?? null, ...values()]))[0]!.count,
      rows: async (limit) => await sql.query<Row>(rows, [limit, ...values()]),
    }
  }
  return {
    pending: view('pending', isDue(machine, t)),
    stalled: view('stalled', `${isDue(machine, t)} and work.${t.token} is not null`),
    future: view('future', `${work} and work.${t.retryAt} > now() and work.${t.token} is null`),
    active: view('active', `${work} and work.${t.retryAt} > now() and work.${t.token} is not null`),
    final: view('final', `work.${t.status} in (${list(finalStates(machine))})`),
  }
}
