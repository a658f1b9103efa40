import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'
import type { Home } from '../db/home.ts'
import { heartbeat } from '../db/processes.ts'

const BEAT_MS = 5_000
/** Beyond this a runner that cannot see us may take us for dead (30 s): stop acting before. Monotonic, from before the query. */
const TRUST_MS = 25_000

/** The part of a newer runner's patience that our hooks may use up: the rest is for killing them, and for leaving. */
const HANDOFF_SHARE = 0.5

/** Keeps our lead known, and learns from the same statement whether we still have it and whether a newer runner asks for it. */
export class Heartbeat {
  readonly #home: Home
  readonly #id: string
  readonly #stop: Stop
  readonly #log: Log
  readonly #timer: NodeJS.Timeout
  #trustedSince = performance.now()
  #ended = false
  /** A newer runner waits. */
  handoff = false
  /** We cannot know that we lead. */
  lost = false

  constructor(home: Home, id: string, stop: Stop, log: Log) {
    this.#home = home
    this.#id = id
    this.#stop = stop
    this.#log = log
    this.#timer = setInterval(() => void this.beat(), BEAT_MS)
  }

  async beat(): Promise<void> {
    if (this.#ended) return
    const begun = performance.now()
    try {
      await failpoint('heartbeat.beating')
      const answer = await heartbeat(this.#home, this.#id)
      await failpoint('heartbeat.beaten')
      if (this.#ended) return // Our row was closed by ourselves.
      if (!answer) return this.#lose('another term began')
      this.#trustedSince = begun
      if (answer.handoffGraceMs !== null && !this.handoff) {
        this.handoff = true
        this.#log.info('a newer runner takes over: handing over')
        this.#stop.requestDrain(answer.handoffGraceMs * HANDOFF_SHARE)
      }
    } catch (error) {
      this.#log.warn(`heartbeat failed: ${messageOf(error)}`)
      if (performance.now() - this.#trustedSince > TRUST_MS) this.#lose(`no heartbeat for ${TRUST_MS / 1000} s`)
    }
  }

  end(): void {
    this.#ended = true
    clearInterval(this.#timer)
  }

  #lose(why: string): void {
    if (this.lost) return
    this.lost = true
    this.#log.error(`no longer leading: ${why}`)
    this.#stop.requestForce()
  }
}
