import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, closeSync, constants, mkdirSync, openSync } from 'node:fs'
import { dirname, extname } from 'node:path'
import { sleep } from '../base/abort.ts'
import { messageOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { uuidv7 } from '../base/ids.ts'
import { asset } from '../base/package-root.ts'
import { FRUGAL_ENV, FRUGAL_FLAGS } from '../base/start/frugal.ts'
import type { Home } from '../db/home.ts'
import { insertStarting, markEnded, markRan, markRunning } from '../db/processes.ts'
import {
  type Container,
  type Containment,
  closeContainer,
  containerFor,
  familyIn,
  openContainer,
} from '../processes/containment/containment.ts'
import { type Family, killFamily } from '../processes/family.ts'
import { identityOf } from '../processes/identity.ts'
import { isTransient, spawned } from '../processes/spawned.ts'
import { forAccount } from './account-environment.ts'
import type { Hook, HookSettings } from './discover.ts'
import { type HookTarget, hookEnvironment } from './environment.ts'
import { limitOutput } from './output-limit.ts'
import { interpreterTrouble } from './shebang.ts'

/** The worker that launches hooks, and their containment. */
export interface HookScope {
  readonly home: Home
  readonly parentId: string
  readonly runnerId: string
  readonly target: HookTarget
  readonly settings: HookSettings
  readonly containment: Containment
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

/** A hook in a process of its own. */
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
  const id = uuidv7()
  const argv = commandOf(hook, scope.target)
  const container = containerFor(scope.containment, { processId: id, workerId: scope.parentId }, argv)
  await insertStarting(scope.home, {
    id,
    processType: 'hook',
    parentId: scope.parentId,
    runnerId: scope.runnerId,
    pwd: cwd,
    cmd: argv,
    url: scope.target.url,
    crawlId: scope.target.crawlId,
    snapshotId: scope.target.snapshotId ?? null,
    timeout: Math.round(hook.timeoutMs / 1000),
    containment: container.tier,
    cgroup: container.cgroup,
    logs,
  })
  await failpoint('spawn.hook_row')
  try {
    await claimed(id)
  } catch (error) {
    await markEnded(scope.home.db, id, null)
    await failpoint('spawn.hook_row_withdrawn')
    throw error
  }
  const { runnerId, parentId: workerId } = scope
  const { account } = scope.containment
  const own = hookEnvironment(scope.settings, scope.target, [hook], { processId: id, workerId, runnerId })
  const env = { ...(isFrugal(hook) && FRUGAL_ENV), ...(account ? forAccount(own, account) : own) }
  const startedAt = performance.now()
  const { pid, ended } = await start(() => spawnToFiles(container, cwd, env, logs)).catch(async (error: unknown) => {
    await closeUnstarted(scope.home, container, id)
    throw error
  })
  await failpoint('spawn.hook_spawned')
  // The hook runs even if we have no descriptor left to identify it: its mark says whose it is.
  const identity = pid === undefined ? null : await identityOf(pid).catch(() => null)
  const family = familyIn(container, id, identity)
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
  const record = async () => {
    const { db } = scope.home
    const exit = identity && (await Promise.race([exited, sleep(BRIEF_MS).then(() => undefined)]))
    if (exit) await markRan(db, id, identity, exit, performance.now() - startedAt)
    else {
      if (identity) await markRunning(db, id, identity, performance.now() - startedAt)
      await failpoint('spawn.hook_running')
      await markEnded(db, id, await exited)
    }
    await failpoint('publish.hook_row_closed')
  }
  const recorded = record()
  recorded.catch(() => {}) // Awaited later; until then a rejection must not count as unhandled.
  return { hook, url: scope.target.url, processId: id, pid, logs, startedAt, family, exited, recorded }
}

/** The row of a hook that ends sooner is closed at once. */
const BRIEF_MS = 50

/** Neither the system nor `env` found the interpreter. */
const wasNotFound = ({ code, error }: Exit) => error !== undefined || code === 127

/** Removes what was prepared for a process that the machine could not start. */
export async function closeUnstarted(home: Home, container: Container, id: string): Promise<void> {
  closeContainer(container)
  await markEnded(home.db, id, null)
  await failpoint('spawn.unstarted_closed')
}

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

/** Starts a command in its container and in a session of its own, without stdin, its output in files. */
export function spawnToFiles(container: Container, cwd: string, env: NodeJS.ProcessEnv, logs: HookLogs): ChildProcess {
  mkdirSync(dirname(logs.stdout), { recursive: true })
  const stdout = openSync(logs.stdout, 'w', 0o600)
  const stderr = openSync(logs.stderr, 'w', 0o600)
  try {
    openContainer(container)
    return spawn(container.argv[0]!, container.argv.slice(1), {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', stdout, stderr],
    })
  } finally {
    closeSync(stdout)
    closeSync(stderr)
  }
}

const isOurs = ({ path }: Hook) => path.startsWith(asset('plugins', 'plugins'))
/** It lives as long as the crawl, and keeps nothing of what passes through it. */
const isFrugal = (hook: Hook) => hook.background && isOurs(hook)

/** The command that runs a hook. */
export function commandOf(hook: Hook, target: HookTarget): string[] {
  return [...interpreter(hook), ...(target.args ?? [`--url=${target.url}`])]
}

const RUNTIMES = new Map([
  ['.js', process.execPath],
  ['.py', 'python3'],
  ['.sh', 'bash'],
])

/**
 * The interpreter. An executable runs by its shebang, a file without the execute bit by its extension, and our own
 * JavaScript on our own Node.
 */
function interpreter(hook: Hook): string[] {
  const { path } = hook
  const runtime = RUNTIMES.get(extname(path))
  if (runtime && isOurs(hook)) return [runtime, ...(isFrugal(hook) ? FRUGAL_FLAGS : []), path]
  try {
    accessSync(path, constants.X_OK)
    return [path]
  } catch {
    return runtime ? [runtime, path] : [path]
  }
}
