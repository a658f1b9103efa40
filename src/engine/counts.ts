import type { Step } from './outcome.ts'

/** What was done with the rows of one model in one period. */
export interface ModelSummary {
  /** Rows that were claimed. */
  readonly claimed: number
  /** Rows that moved along an edge, by edge: `queued -start-> started`. Timeouts and give-ups, too. */
  readonly moved: Readonly<Record<string, number>>
  /** Handler runs that ended with "not yet". */
  readonly again: number
  /**
   * Handler runs that threw, answered what their state does not offer, or exceeded their deadline; and rows given up
   * before they were run.
   */
  readonly failed: number
  /** Claims whose row belonged to somebody else, or to nobody, when something was to be written. */
  readonly lost: number
  readonly deleted: number
  /** Rows in states that the graph does not know, by state, when the period ended. Nobody claims them. */
  readonly unknown: Readonly<Record<string, number>>
}

/** What was handled, by model, in so many seconds. */
export interface Summary {
  readonly seconds: number
  readonly models: Readonly<Record<string, ModelSummary>>
}

/** Counts what becomes of the rows of one model. */
export class Counts {
  claimed = 0
  again = 0
  failed = 0
  lost = 0
  deleted = 0
  unknown: Readonly<Record<string, number>> = {}
  readonly #moved = new Map<string, number>()

  /** A step that was written. */
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

  /** What was counted since the last call. */
  take(): ModelSummary {
    const { claimed, again, failed, lost, deleted, unknown } = this
    const summary = { claimed, moved: Object.fromEntries(this.#moved), again, failed, lost, deleted, unknown }
    this.claimed = this.again = this.failed = this.lost = this.deleted = 0
    this.#moved.clear()
    return summary
  }
}
