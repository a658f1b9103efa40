import type { ChildProcess } from 'node:child_process'
import { sleep } from '../base/abort.ts'
import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { FRUGAL_ENV } from '../base/start/frugal.ts'
import { markEnded, markRan, markRunning } from '../db/processes.ts'
import { type Family, killFamily } from '../processes/family.ts'
import type { ProcessIdentity } from '../processes/identity.ts'
import { isTransient, spawned } from '../processes/spawned.ts'
import { forAccount } from './account-environment.ts'
import { announce, identified, type ProcessScope, spawnToFiles, startAnnounced } from './announced.ts'
import { commandOf, isFrugal } from './command.ts'
import type { Hook, HookSettings } from './discover.ts'
import { type HookTarget, hookEnvironment } from './environment.ts'
import { limitOutput } from './output-limit.ts'
import { interpreterTrouble } from './shebang.ts'

/** The worker that launches hooks, and what they work on. */
export interface HookScope extends ProcessScope {
  readonly target: HookTarget
  readonly settings: HookSettings
}

export interface HookLogs {
  readonly stdout: string
  readonly stderr: string
}

/** How a process ended, as the operating system told its parent. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Why it never ran, or why we killed it. */
  readonly error?: string
}

/** A hook in its own process. */
export interface RunningHook {
  readonly hook: Hook
  /** What it works on. */
  readonly url: string
  readonly processId: string
  readonly pid: number | undefined
  readonly logs: HookLogs
  /** Monotonic milliseconds. */
  readonly startedAt: number
  readonly family: Family
  /** Its end, from the operating system. */
  readonly exited: Promise<Exit>
  /** Resolves when its row has the end; that is later than `exited` while the database is away. */
  readonly recorded: Promise<void>
}

/**
 * Starts a hook in its own session, with stdin closed and output to files (a pipe would stay open as long as a
 * daemonised child lives). Its row is written before the spawn and completed after it. When the hook itself cannot be
 * started, `exited` has the error. Throws when the machine cannot start anything at the moment: then nothing ran, and
 * the row is closed.
 * @param claimed called between the row and the spawn; throws when the work is no longer ours, and nothing is started
 */
export async function launchHook(
  scope: HookScope,
  hook: Hook,
  cwd: string,
  logs: HookLogs,
  claimed: (processId: string) => Promise<void>,
): Promise<RunningHook> {
  const { home, target } = scope
  const announced = await announce(scope, {
    pwd: cwd,
    cmd: commandOf(hook, target),
    url: target.url,
    crawlId: target.crawlId,
    snapshotId: target.snapshotId ?? null,
    timeout: Math.round(hook.timeoutMs / 1000),
    logs,
  })
  const { id, container } = announced
  await failpoint('spawn.hook_row')
  try {
    await claimed(id)
  } catch (error) {
    await markEnded(home.db, id, null)
    await failpoint('spawn.hook_row_withdrawn')
    throw error
  }
  const env = environmentOf(scope, hook, id)
  const startedAt = performance.now()
  const { pid, ended } = await startAnnounced(home, announced, () =>
    start(() => spawnToFiles(container, cwd, env, logs)),
  )
  await failpoint('spawn.hook_spawned')
  const { identity, family } = await identified(announced, pid)
  const limit = limitOutput([logs.stdout, logs.stderr], async () => {
    await killFamily(family)
    await failpoint('publish.flood_ended')
  })
  const exited = ended.then(async (exit) => {
    const flood = await limit.end()
    if (flood) return { ...exit, error: flood }
    const trouble = wasNotFound(exit) ? interpreterTrouble(hook.path) : undefined
    return trouble ? { ...exit, error: `it cannot be started: ${trouble}` } : exit
  })
  const recorded = record(scope, { id, pid, identity }, exited, startedAt)
  recorded.catch(() => {}) // Awaited later; until then a rejection must not count as unhandled.
  return { hook, url: target.url, processId: id, pid, logs, startedAt, family, exited, recorded }
}

function environmentOf(scope: HookScope, hook: Hook, processId: string): NodeJS.ProcessEnv {
  const { settings, target, runnerId, parentId: workerId, containment } = scope
  const own = hookEnvironment(settings, target, [hook], { processId, workerId, runnerId })
  return { ...(isFrugal(hook) && FRUGAL_ENV), ...(containment.account ? forAccount(own, containment.account) : own) }
}

/** The row of a hook that ends sooner is closed at once. */
const BRIEF_MS = 50

/** Completes the row of a hook that was started, and closes it when the hook has ended. */
async function record(
  { home: { db } }: HookScope,
  { id, pid, identity }: { id: string; pid: number | undefined; identity: ProcessIdentity | null },
  exited: Promise<Exit>,
  startedAt: number,
): Promise<void> {
  // A process that nobody can look at any more has ended, or never ran.
  const exit = await (identity ? Promise.race([exited, sleep(BRIEF_MS).then(() => undefined)]) : exited)
  const hasRun = exit && pid !== undefined
  if (hasRun) await markRan(db, id, identity ?? { pid }, exit, performance.now() - startedAt)
  else if (identity) await markRunning(db, id, identity, performance.now() - startedAt)
  if (!exit) await failpoint('spawn.hook_running')
  if (!hasRun) await markEnded(db, id, await exited)
  await failpoint('publish.hook_row_closed')
}

/** Neither the system nor `env` found the interpreter. */
const wasNotFound = ({ code, error }: Exit) => error !== undefined || code === 127

interface Started {
  /** Undefined: it never ran. */
  readonly pid: number | undefined
  readonly ended: Promise<Exit>
}

/**
 * Spawns the process. A fault of the hook itself becomes its exit; throws when the machine cannot start anything now.
 */
async function start(spawnIt: () => ChildProcess): Promise<Started> {
  try {
    const child = await spawned(spawnIt)
    return {
      pid: child.pid,
      ended: new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal }))),
    }
  } catch (error) {
    if (isTransient(error)) throw error
    return {
      pid: undefined,
      ended: Promise.resolve({ code: null, signal: null, error: `it cannot be started: ${messageOf(error)}` }),
    }
  }
}
