import type { Sql, Statement } from '../sql.ts'

/** The same database, with a view of pending statements: one without an answer is a loop that misses its schedule. */
export class Gauge implements Sql {
  readonly #sql: Sql
  readonly #startedAt = new Set<{ readonly at: number }>()

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async query<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const started = { at: performance.now() }
    this.#startedAt.add(started)
    try {
      return await this.#sql.query<Row>(statement, values)
    } finally {
      this.#startedAt.delete(started)
    }
  }

  /** How long the oldest pending statement has waited for its answer, in milliseconds. */
  get oldestMs(): number {
    const [oldest] = this.#startedAt
    return oldest ? performance.now() - oldest.at : 0
  }
}
