import { setImmediate as poll } from 'node:timers/promises'
import { sleep } from '../base/abort.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import { CannotEnd } from '../processes/cannot-end.ts'
import { endFamily } from '../processes/end-family.ts'
import type { ProcEntry } from '../processes/proc.ts'
import type { Exit, RunningHook } from './launch.ts'

/** A foreground hook whose time is over may still write its files. */
const FOREGROUND_GRACE_MS = 2_000

/** How long ending a hook may take, and what cuts it short. */
export interface EndBudget {
  /** Upper bound of every hook's remaining time in ms, as far as known: Infinity except in a handoff. */
  readonly capMs: number
  /** Aborts when that time is over (a handoff that begins meanwhile shortens it), or to kill at once. */
  readonly over: AbortSignal
}

export interface BackgroundEnd {
  readonly running: RunningHook
  readonly exit: Exit
  /** We killed it: it neither exited by itself nor after our SIGTERM. */
  readonly killed: boolean
}

/**
 * Ends background hooks in three phases (ArchiveBox's worker.py): SIGTERM to all trees at once; a parallel wait, for
 * each up to the rest of its own timeout, and at least its grace: a browser that has served for hours still has its
 * profile to write; SIGKILL for those that remain. Throws CannotEnd when one survives, but only after the ends of the
 * others are known.
 */
export async function* terminateHooks(
  hooks: readonly RunningHook[],
  budget: EndBudget,
  log: Log,
): AsyncGenerator<BackgroundEnd, void> {
  if (hooks.length === 0) return
  log.debug(`SIGTERM to ${hooks.length} background hook${hooks.length > 1 ? 's' : ''} of ${hooks[0]!.url}`)
  const ends = await Promise.allSettled(hooks.map((running) => terminateHook(running, budget, log)))
  for (const end of ends) if (end.status === 'fulfilled') yield end.value
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

async function terminateHook(running: RunningHook, budget: EndBudget, log: Log): Promise<BackgroundEnd> {
  const { timeoutMs, graceMs } = running.hook
  const patience = Math.max(graceMs, running.startedAt + timeoutMs - performance.now())
  const waitMs = Math.min(patience, budget.capMs)
  const { exit, survivors } = await endFamily(running.family, async (members) => {
    log.debug(`SIGTERM to ${nameOf(running)} and ${Math.max(0, members.length - 1)} children`)
    log.debug(`waiting up to ${(waitMs / 1000).toFixed(1)} s for ${nameOf(running)}`)
    const exit = await exitWithin(running, patience, budget.over)
    if (exit) log.debug(`${nameOf(running)} ended (${describeExit(exit)})`)
    else log.warn(`SIGKILL to ${nameOf(running)} and its children`)
    return exit
  })
  if (exit) {
    await failpoint('shutdown.hook_left')
    return { running, exit, killed: false }
  }
  await failpoint('shutdown.hook_killed')
  const error = `killed: it did not end within ${Math.round(waitMs / 1000)} s of SIGTERM`
  return { running, exit: { ...(await exitOf(running, survivors)), error }, killed: true }
}

/** The exit of a hook that was killed. Throws CannotEnd when it is among those that survived. */
async function exitOf(running: RunningHook, survivors: readonly ProcEntry[]): Promise<Exit> {
  if (survivors.some(({ pid }) => pid === running.pid)) throw new CannotEnd(survivors)
  return await running.exited
}

const nameOf = ({ hook, url }: RunningHook) => `${hook.name} on ${url}`

/** The exit, if it comes within `ms` and before `force`. */
export async function exitWithin(running: RunningHook, ms: number, force: AbortSignal): Promise<Exit | undefined> {
  const over = new AbortController()
  const limit = sleep(Math.min(ms, 2 ** 31 - 1), AbortSignal.any([force, over.signal]))
    .then(() => poll()) // After a standstill it may have exited long ago, but timers come before exits.
    .then(() => undefined)
  try {
    return await Promise.race([running.exited, limit])
  } finally {
    over.abort()
  }
}

/**
 * Ends a foreground hook that exceeded its time: SIGTERM to its tree, two seconds to write its files, then SIGKILL.
 * Throws CannotEnd when it survives that.
 */
export async function endForeground(running: RunningHook, force: AbortSignal): Promise<Exit> {
  const { survivors } = await endFamily(running.family, async () => {
    await exitWithin(running, FOREGROUND_GRACE_MS, force)
    return undefined // All that it has started is searched for thoroughly.
  })
  await failpoint('publish.late_hook_killed')
  return await exitOf(running, survivors)
}

/** Whether this is a normal end of a background hook that was asked to end. */
export function endedAsAsked({ code, signal }: Exit): boolean {
  return code === 0 || signal === 'SIGTERM' || code === 143 || code === 130
}

export function describeExit(exit: Exit): string {
  return exit.error ?? (exit.signal ? `signal ${exit.signal}` : `exit code ${exit.code ?? 'unknown'}`)
}
