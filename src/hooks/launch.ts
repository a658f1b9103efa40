import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, closeSync, constants, mkdirSync, openSync } from 'node:fs'
import { dirname, extname } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import { uuidv7 } from '../base/ids.ts'
import type { Home } from '../db/home.ts'
import { insertStarting, markEnded, markRunning } from '../db/processes.ts'
import { type Container, type Containment, containerFor, familyIn, openContainer } from '../processes/containment/containment.ts'
import type { Family } from '../processes/family.ts'
import { identityOf } from '../processes/identity.ts'
import type { Hook, HookSettings } from './discover.ts'
import { type HookTarget, hookEnvironment } from './environment.ts'

/** Who launches hooks, and for what. */
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

/** How a process ended: what the operating system told its parent. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** It never ran: why. */
  readonly error?: string
}

/** A hook that runs as a process of its own. */
export interface RunningHook {
  readonly hook: Hook
  readonly processId: string
  readonly pid: number | undefined
  readonly logs: HookLogs
  /** Monotonic milliseconds. */
  readonly startedAt: number
  readonly family: Family
  /** Its end, as the operating system told it. */
  readonly exited: Promise<Exit>
  /** Its row says how it ended; later than `exited` by as long as the database is away. */
  readonly recorded: Promise<void>
}

/**
 * Starts a hook in its own session, stdin closed, output to files (a pipe would stay open for as long as a daemonised child lives).
 * Its row is written before the spawn and completed after it. A hook that cannot be started has `exited` with an error.
 * @param claimed says between the row and the spawn that the work is still ours, and throws when it is not: then nothing is started
 */
export async function launchHook(
  scope: HookScope,
  hook: Hook,
  cwd: string,
  logs: HookLogs,
  claimed: (processId: string) => Promise<void>,
): Promise<RunningHook> {
  const id = uuidv7()
  const argv = [...interpreter(hook), `--url=${scope.target.url}`]
  const container = containerFor(scope.containment, id, argv)
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
  const env = hookEnvironment(scope.settings, scope.target, hook, { processId: id, runnerId: scope.runnerId })
  const startedAt = performance.now()
  const child = spawnToFiles(container, cwd, env, logs)
  const exited = new Promise<Exit>((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, error: error.message }))
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  await failpoint('spawn.hook_spawned')
  const identity = child.pid === undefined ? null : await identityOf(child.pid)
  const record = async () => {
    if (identity) await markRunning(scope.home.db, id, identity)
    await failpoint('spawn.hook_running')
    await markEnded(scope.home.db, id, await exited)
    await failpoint('publish.hook_row_closed')
  }
  const recorded = record()
  recorded.catch(() => {}) // Whoever waits for it sees the failure; until then it must not count as unhandled.
  const family = familyIn(container, id, identity)
  return { hook, processId: id, pid: child.pid, logs, startedAt, family, exited, recorded }
}

function spawnToFiles(container: Container, cwd: string, env: NodeJS.ProcessEnv, logs: HookLogs): ChildProcess {
  mkdirSync(dirname(logs.stdout), { recursive: true })
  const stdout = openSync(logs.stdout, 'w', 0o600)
  const stderr = openSync(logs.stderr, 'w', 0o600)
  try {
    openContainer(container)
    return spawn(container.argv[0]!, container.argv.slice(1), { cwd, env, detached: true, stdio: ['ignore', stdout, stderr] })
  } finally {
    closeSync(stdout)
    closeSync(stderr)
  }
}

/** An executable runs by its shebang; one that lost its execute bit, by its ending. Our own JavaScript runs on our own Node. */
function interpreter({ path, hosted }: Hook): string[] {
  const runtime = { '.js': process.execPath, '.py': 'python3', '.sh': 'bash' }[extname(path)]
  if (hosted && runtime) return [runtime, path]
  try {
    accessSync(path, constants.X_OK)
    return [path]
  } catch {
    return runtime ? [runtime, path] : [path]
  }
}
