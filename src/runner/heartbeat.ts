import { setImmediate as turn } from 'node:timers/promises'
import { sleep } from '../base/abort.ts'
import { elapsed } from '../base/elapsed.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'
import { BEAT_MS, heartbeat, TRUST_MS } from '../db/heartbeats.ts'
import type { Home } from '../db/home.ts'
import { rowById } from '../db/process-rows.ts'
import { withdrawHandoff } from '../db/runners.ts'
import { serverIdentity } from '../db/server-identity.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { ownIdentity } from '../processes/identity.ts'
import { presenceOf } from '../processes/presence.ts'
import type { OutageMonitor } from './outage-monitor.ts'
import { Trust } from './trust.ts'

/** The part of a newer runner's grace that our hooks may use up: the rest is for killing them, and for exiting. */
export const HANDOFF_SHARE = 0.5

/** How long to wait for a beat in progress, before another one is tried beside it. */
const HEAR_MS = 100

/** Keeps our lead known, and learns in the same statement whether we still have it and whether it is asked for. */
export class Heartbeat {
  readonly #home: Home
  readonly #id: string
  readonly #stop: Stop
  readonly #log: Log
  readonly #outage: OutageMonitor
  readonly #timer: NodeJS.Timeout
  readonly #trust: Trust
  readonly #onSignalled: () => void
  /** The last beat, while it is under way. */
  #beating: Promise<void> | undefined
  /** The database server on which we were promoted. */
  #server: string | null = null
  #ended = false
  #blockedReason: string | null = null
  /** A newer runner waits; or one that has gone since has signalled us. */
  handoff = false
  /** We cannot know that we lead. */
  lost = false

  /** @param onSignalled called when the lead is asked for by one that has sent a SIGTERM, or is about to */
  constructor(home: Home, id: string, stop: Stop, log: Log, outage: OutageMonitor, onSignalled: () => void) {
    this.#home = home
    this.#id = id
    this.#stop = stop
    this.#log = log
    this.#outage = outage
    this.#onSignalled = onSignalled
    this.#timer = setInterval(() => {
      if (!this.#beating) void this.beat()
    }, BEAT_MS)
    this.#trust = new Trust(TRUST_MS, () => this.#lose(`the database has not answered for ${TRUST_MS / 1000} s`))
  }

  async beat(): Promise<void> {
    const beat = this.#beat()
    this.#beating = beat
    await beat
    if (this.#beating === beat) this.#beating = undefined
  }

  /** Learns whether a newer runner has asked for the lead: from the beat in progress, else from another one. */
  async hear(): Promise<void> {
    if (this.handoff) return
    const over = new AbortController()
    await Promise.race([this.#beating, sleep(HEAR_MS, over.signal)])
    over.abort()
    if (!this.handoff) await this.beat()
  }

  async #beat(): Promise<void> {
    if (this.#ended) return
    const begun = elapsed()
    try {
      const answer = await heartbeat(this.#home, this.#id, await ownIdentity(), this.#blockedReason)
      await failpoint('heartbeat.beaten')
      if (this.#ended) return // We have closed our row ourselves.
      if (!answer) return this.#lose('its row is closed, or another term began')
      this.#outage.over()
      this.#trust.answered(begun)
      const isAsked = answer.askedBy !== null && !this.handoff && (await this.#isThere(answer.askedBy))
      if (this.#ended) return // That lead is over.
      const wasTold = answer.isSignalled && this.#stop.drain.aborted
      if (answer.isSignalled && (isAsked || wasTold)) this.#onSignalled()
      // The runner that told us to drain is gone: nobody else would lead.
      if (!isAsked && wasTold) this.handoff = true
      if (isAsked && !this.handoff) {
        this.handoff = true
        this.#log.info('a newer runner takes over: handing over', { event: 'leader.hands_over' })
        this.#stop.because('a newer runner takes over').requestDrain(answer.handoffGraceMs * HANDOFF_SHARE)
      }
      if (!this.handoff && (await this.#isAnotherServer()))
        this.#lose('the database is another server than before: a failover')
    } catch (error) {
      if (isDatabaseAway(error)) this.#outage.seen(error)
      else this.#log.warn(`heartbeat failed: ${String(error)}`)
    }
  }

  /** Makes `status` show what keeps us from starting work; undefined: nothing. */
  isBlockedBy(reason: string | undefined): void {
    const kind = (text: string | null | undefined) => text?.replace(/\d+/g, '')
    if (kind(reason) === kind(this.#blockedReason ?? undefined)) return // Only its figures differ.
    this.#blockedReason = reason ?? null
    void this.beat()
  }

  /** What keeps us from starting work; null: nothing. */
  get blockedReason(): string | null {
    return this.#blockedReason
  }

  end(): void {
    this.#ended = true
    clearInterval(this.#timer)
    this.#trust.end()
  }

  /** Is the runner that asked for the lead still there? If it is gone, its request is forgotten. */
  async #isThere(askedBy: string): Promise<boolean> {
    const row = await rowById(this.#home, askedBy)
    if (row && row.ended_at === null && (await presenceOf(this.#home, row)) !== 'gone') return true
    // A signal that it sent at the last moment waits for the next turn of the loop.
    for (let turns = 0; turns < 2; turns += 1) await turn()
    await withdrawHandoff(this.#home, this.#id, { askedBy, isSignalled: this.#stop.drain.aborted })
    return false
  }

  async #isAnotherServer(): Promise<boolean> {
    const now = await serverIdentity(this.#home.db)
    this.#server ??= now
    return now !== null && now !== this.#server
  }

  #lose(why: string): void {
    if (this.lost || this.#ended) return
    this.lost = true
    this.#log.warn(`this runner cannot know that it leads (${why}): ending its workers and hooks`, {
      ...{ event: 'leader.lost', why },
    })
    this.#stop.because(why).requestForce()
  }
}
