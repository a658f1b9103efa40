import { type Bell, sleep } from '../base/abort.ts'
import { AppError, codeOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Stop } from '../base/stop.ts'
import type { Home } from '../db/home.ts'
import { identityIn, isRunner, type LiveRow, liveRows } from '../db/processes.ts'
import { requestHandoff } from '../db/runners.ts'
import { killFamily, MARKER } from '../processes/family.ts'
import { signalIdentity } from '../processes/identity.ts'
import { presenceOf } from '../processes/presence.ts'
import { promote, type Term } from './promote.ts'
import type { Registered } from './registration.ts'
import { sweep } from './sweep.ts'

/** How long an older runner may take to drain before its tree is killed; its own budget for a handoff is shorter. */
const GRACE_MS = 10_000
/** How long a killed tree may take to be gone (a process in uninterruptible sleep may never be). */
const KILL_MS = 5_000
const LOOK_MS = 20

interface GateOptions {
  readonly home: Home
  readonly log: Log
}

export type Passed =
  | { readonly term: Term; readonly why?: undefined }
  | { readonly term?: undefined; readonly why: 'superseded' | 'drained' | 'forced' }

/**
 * The single-runner gate. The newest runner wins, by the database's order of registrations; it is promoted only when the operating system
 * says that every older one is gone, and everything that carried their marks is killed.
 * Throws AppError when an older one cannot be ended: then there is no promotion.
 */
export async function passGate({ home, log }: GateOptions, me: Registered, stop: Stop, bell: Bell): Promise<Passed> {
  for (;;) {
    if (stop.drain.aborted) return { why: stop.force.aborted ? 'forced' : 'drained' }
    const others = await otherRunners(home, me)
    const newer = others.findLast((row) => row.seq > me.seq)
    if (newer) {
      log.info(`a newer runner (pid ${newer.pid}) is taking over`)
      return { why: 'superseded' }
    }
    if (others.length > 0) {
      await endOlder(home, log, me, others, stop, bell)
      continue
    }
    await sweep(home, log, me)
    try {
      const term = await promote(home, me)
      log.info(`leading (term ${term.number}${term.requeued > 0 ? `, ${term.requeued} unfinished claims taken over` : ''})`)
      return { term }
    } catch (error) {
      // The index has the last word: somebody was promoted in between. A lock that did not come in time is no reason to leave nobody leading.
      if (!['23505', '55P03', '40P01'].includes(codeOf(error) ?? '')) throw error
      await sleep(LOOK_MS)
    }
  }
}

/** Runners of this data dir that are not proved dead, oldest first. */
async function otherRunners(home: Home, me: Registered): Promise<LiveRow[]> {
  const alive: LiveRow[] = []
  for (const row of await liveRows(home)) {
    if (row.id === me.id || !isRunner(row)) continue
    // A row without identity is a runner between its insert and its first update: too young to work; it sees us, or we see it next time.
    if ((await presenceOf(row)) !== 'gone') alive.push(row)
  }
  return alive
}

/** Asks older runners to hand over, waits, and kills what does not go. */
async function endOlder(home: Home, log: Log, me: Registered, older: readonly LiveRow[], stop: Stop, bell: Bell): Promise<void> {
  const first = await requestHandoff(
    home,
    me.id,
    older.map(({ id }) => id),
  )
  for (const row of older) {
    const identity = identityIn(row)!
    log.info(
      `taking over from runner pid ${row.pid}${(await presenceOf(row)) === 'unseen' ? ' in another container: asked through the database' : ''}`,
    )
    if (first.includes(row.id)) await signalIdentity(identity, 'SIGTERM')
    await signalIdentity(identity, 'SIGCONT') // A stopped process sees no other signal.
  }
  const begun = performance.now()
  let killed = false
  for (;;) {
    const left: LiveRow[] = []
    let unseen = false
    for (const row of await stillThere(home, older)) {
      const presence = await presenceOf(row)
      if (presence === 'gone') continue
      if (presence === 'unseen') unseen = true
      left.push(row)
    }
    if (left.length === 0 || stop.drain.aborted) return
    if ((await otherRunners(home, me)).some((row) => row.seq > me.seq)) return
    const waited = performance.now() - begun
    if (!unseen && waited > GRACE_MS && !killed) {
      killed = true
      for (const row of left) {
        log.warn(`runner pid ${row.pid} did not hand over within ${GRACE_MS / 1000} s: killing its processes`)
        await killFamily({ roots: [identityIn(row)!], markers: [`${MARKER.runner}=${row.id}`] }, KILL_MS)
      }
    } else if (!unseen && waited > GRACE_MS + KILL_MS) {
      throw new AppError(
        `cannot end the older runner (pid ${left.map(({ pid }) => pid).join(', ')}): it survives SIGKILL or belongs to another user`,
        {
          hint: 'end it by hand, then start again; nothing was taken over',
        },
      )
    }
    await bell.wait(unseen ? 500 : LOOK_MS, stop.drain)
  }
}

/** The rows again, since a heartbeat may have moved; of processes we can see, the operating system alone decides. */
async function stillThere(home: Home, rows: readonly LiveRow[]): Promise<LiveRow[]> {
  const now = new Map((await liveRows(home)).map((row) => [row.id, row]))
  // A row that closed itself may still belong to a process that has not left yet.
  return rows.map((row) => now.get(row.id) ?? row)
}
