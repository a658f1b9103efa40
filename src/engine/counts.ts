import type { Step } from './outcome.ts'

/** What happened to the rows of one model in one period. */
export interface ModelSummary {
  /** Rows that were claimed. */
  readonly claimed: number
  /** Rows that moved, by edge: `queued -start-> started`. Includes timeouts and give-ups. */
  readonly moved: Readonly<Record<string, number>>
  /** Handler runs that ended with "not yet". */
  readonly again: number
  /**
   * Handler runs that threw, returned an invalid outcome or exceeded their deadline; and rows given up without a run.
   */
  readonly failed: number
  /** Claims that were lost before their outcome was written. */
  readonly lost: number
  readonly deleted: number
  /** Rows in states that the graph does not know, at the end of the period, by state. They are never claimed. */
  readonly unknown: Readonly<Record<string, number>>
}

/** Counts what happens to the rows of one model. */
export class Counts {
  claimed = 0
  again = 0
  failed = 0
  lost = 0
  deleted = 0
  unknown: Readonly<Record<string, number>> = {}
  readonly #moved = new Map<string, number>()

  /** Counts a step that was written. */
  stepped({ from, event, to }: Step, by = 1): void {
    if (event === '') return
    const edge = `${from} -${event}-> ${to}`
    this.#moved.set(edge, (this.#moved.get(edge) ?? 0) + by)
  }

  add(other: ModelSummary): void {
    for (const what of ['claimed', 'again', 'failed', 'lost', 'deleted'] as const) this[what] += other[what]
    for (const [edge, times] of Object.entries(other.moved)) this.#moved.set(edge, (this.#moved.get(edge) ?? 0) + times)
    this.unknown = other.unknown
  }

  /** The counts since the last call. */
  take(): ModelSummary {
    const { claimed, again, failed, lost, deleted, unknown } = this
    const summary = { claimed, moved: Object.fromEntries(this.#moved), again, failed, lost, deleted, unknown }
    this.claimed = this.again = this.failed = this.lost = this.deleted = 0
    this.#moved.clear()
    return summary
  }
}
