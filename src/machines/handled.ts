import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/**
 * How many rows of each model reached which state in the last `seconds`. Counted from the log of transitions, which is
 * written with each of them: it outlives every runner, and an idle runner writes nothing.
 */
export async function handledWithin(db: Database, seconds: number): Promise<Record<string, Record<string, number>>> {
  const { rows } = await sql<{ model: string; state: string; count: number }>`
    select model, to_status as state, count(*) as count from transition
      where at > now() - make_interval(secs => ${seconds})
    group by 1, 2 order by 1, 2`.execute(db)
  const byModel = Map.groupBy(rows, ({ model }) => model)
  return Object.fromEntries(
    [...byModel].map(([model, of]) => [model, Object.fromEntries(of.map(({ state, count }) => [state, count]))]),
  )
}
