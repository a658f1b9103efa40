import { aborted, sleep } from '../../base/abort.ts'
import { Supervised, supervisedProcess } from '../../engine/supervised.ts'
import { ARE_YOU_HERE, BEGIN, type FromWorker, type Opening, type ToWorker } from './lane-messages.ts'

/** How long a lane that fails in a forced stop waits for the others: a supervisor kills us after 3 s. */
const OTHERS_MS = 2_500

/** One of the loops of a worker, with its own orders from the supervisor. */
export class Lane {
  readonly supervised: Supervised
  /** Whether it waits for the supervisor's cue, and claims nothing yet. */
  holds: boolean

  constructor(supervised: Supervised, holds: boolean) {
    this.supervised = supervised
    this.holds = holds
    supervised.onNote = (note) => {
      if (note === BEGIN) this.holds = false
    }
  }
}

/** It could not claim, and holds nothing: its lane ends, and the others continue. */
export class CannotClaim extends Error {
  override readonly name = 'CannotClaim'
}

/**
 * The lanes of this worker: loops over the same queue, side by side. Each is an actor of the supervisor's pool, which
 * opens them one by one; they share the process and its connection. The process ends with the last one.
 */
export class Lanes {
  readonly #process = supervisedProcess()
  readonly #open = new Map<number, Lane>()
  readonly #opening = Promise.withResolvers<Opening | undefined>()
  #isOver = false
  #live: ((number: number, lane: Lane) => void) | undefined
  /** Aborts when all work is to stop. */
  readonly force = this.#process.stop.force
  /** Aborted by a lane when no further work is to be taken here: each ends when it has none. */
  readonly closing = new AbortController()

  constructor() {
    const { stop } = this.#process
    this.#process.onNote = (note) => this.#hear(note as ToWorker)
    stop.watch(() => this.#stop())
    void aborted(this.force).then(() => {
      this.#stop()
      this.#opening.resolve(undefined) // If the supervisor died before it opened one, there is no work.
    })
  }

  /** How the first one was opened; undefined when the supervisor is gone before. */
  get opening(): Promise<Opening | undefined> {
    return this.#opening.promise
  }

  say(note: FromWorker): void {
    this.#process.tell({ type: 'note', note })
  }

  /**
   * Runs `work` for each lane, also for those that are opened meanwhile, until none is left.
   * @returns the exit code: 0 done, 1 the last one could not claim
   * @throws what `work` throws, CannotClaim excepted: at once, whatever the others do; in a forced stop when they have
   * put back what they had
   */
  async serve(work: (lane: Lane) => Promise<void>, report: (error: Error) => void): Promise<number> {
    const { promise: over, resolve, reject } = Promise.withResolvers<number>()
    const live = async (number: number, lane: Lane) => {
      const error = await work(lane).then(
        () => undefined,
        (error: unknown) => {
          if (error instanceof CannotClaim) return error
          throw error
        },
      )
      if (error) report(error)
      lane.supervised.close()
      this.#open.delete(number)
      const endedWith = error ? 1 : 0
      const isFull = this.closing.signal.aborted || this.#process.stop.drain.aborted
      if (this.#open.size > 0) return this.say({ lane: number, endedWith, isFull })
      this.#isOver = true
      resolve(endedWith)
    }
    const lives = new Set<Promise<void>>()
    this.#live = (number, lane) => {
      const life = live(number, lane)
      lives.add(life)
      void life.then(
        () => lives.delete(life),
        async (error: unknown) => {
          if (this.force.aborted) await Promise.race([Promise.allSettled(lives), sleep(OTHERS_MS)])
          reject(error)
        },
      )
    }
    for (const [number, lane] of this.#open) this.#live(number, lane)
    if (this.#open.size === 0) resolve(0)
    return await over
  }

  /** A stop of the process stops every lane. */
  #stop(): void {
    const { drain, force, capMs, isExplained } = this.#process.stop
    for (const { supervised } of this.#open.values()) {
      if (force.aborted) supervised.stop.requestForce(isExplained)
      else if (drain.aborted) supervised.stop.requestDrain(capMs, isExplained)
      supervised.bell.wake()
    }
  }

  #hear(note: ToWorker): void {
    if (note === ARE_YOU_HERE) {
      this.#process.tell({ type: 'here' })
      return
    }
    const { lane: number } = note
    if (this.#isOver) return // It ends with us.
    if ('open' in note) {
      const lane = new Lane(new Supervised((message) => this.say({ lane: number, message })), note.open.holds)
      this.#open.set(number, lane)
      this.#stop()
      this.#opening.resolve(note.open)
      this.#live?.(number, lane)
    } else if (note.order.type === 'force') this.#process.hear(note.order)
    else this.#open.get(number)?.supervised.hear(note.order)
  }
}
