import { Counts, type ModelSummary } from '../counts.ts'
import type { Producer } from './producer.ts'

/** Counts by model, over a number of seconds. */
export interface Summary {
  readonly seconds: number
  readonly models: Readonly<Record<string, ModelSummary>>
}

/** Adds up the counts of all models, by period and in total. */
export class Tally {
  readonly #producers: readonly Producer[]
  readonly #onSummary: ((summary: Summary) => void) | undefined
  readonly #onError: (error: Error) => void
  readonly #total = new Map<string, Counts>()
  readonly #startedAt = performance.now()
  #at = performance.now()

  constructor(
    producers: readonly Producer[],
    onSummary: ((summary: Summary) => void) | undefined,
    onError: (error: Error) => void,
  ) {
    this.#producers = producers
    this.#onSummary = onSummary
    this.#onError = onError
  }

  /** Closes the period that began with the last call. */
  summarise(): void {
    const models: Record<string, ModelSummary> = {}
    for (const { machine, counts } of this.#producers) {
      const taken = counts.take()
      models[machine.name] = taken
      const total = this.#total.get(machine.name) ?? new Counts()
      total.add(taken)
      this.#total.set(machine.name, total)
    }
    const seconds = (performance.now() - this.#at) / 1000
    this.#at = performance.now()
    this.#onSummary?.({ seconds, models })
  }

  /** The total of all periods. Call it once, at the end. */
  total(): Summary {
    const models = [...this.#total].map(([name, counts]) => [name, counts.take()] as const)
    return { seconds: (performance.now() - this.#startedAt) / 1000, models: Object.fromEntries(models) }
  }

  /** Rows in states that their graph does not know are left alone but reported. */
  async lookForUnknown(): Promise<void> {
    for (const { queue, counts, machine } of this.#producers) {
      const unknown = await queue.unknown()
      for (const [state, count] of Object.entries(unknown)) {
        if (counts.unknown[state] !== undefined) continue
        this.#onError(
          new Error(
            `state graph "${machine.name}": ${count} rows are in the unknown state "${state}" and are not claimed`,
          ),
        )
      }
      counts.unknown = unknown
    }
  }
}
