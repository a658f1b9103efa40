import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../base/abort.ts'
import { messageOf } from '../base/errors.ts'
import { uuidv7 } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { containerFor, familyIn } from '../processes/containment/containment.ts'
import { hasDeathSignal } from '../processes/containment/death-signal.ts'
import { killFamily, killLeftovers } from '../processes/family.ts'
import { identityOf } from '../processes/identity.ts'
import { spawned } from '../processes/spawned.ts'
import { spawnToFiles } from './announced.ts'
import { commandOf } from './command.ts'
import type { Hook, HookSettings } from './discover.ts'
import { type HookTarget, hookEnvironment } from './environment.ts'
import type { Exit, HookLogs, RunningHook } from './launch.ts'
import { limitOutput } from './output-limit.ts'
import { endedAsAsked, endForeground, exitWithin, terminateHooks } from './terminate.ts'

const READY_POLL_MS = 25
/** What `timeout` answers. */
const LATE = 124
const NOT_STARTED = 126

/** A hook that runs by hand, and for what. */
export interface TriedHook {
  readonly event: 'CrawlSetup' | 'Snapshot'
  readonly hook: Hook
}

/** What came of it. */
export interface Tried {
  readonly hook: Hook
  /** Undefined: it could not be started. */
  readonly running?: RunningHook
  /** Undefined: it runs on in the background. */
  readonly exit?: Exit
}

interface Trial {
  readonly settings: HookSettings
  readonly target: HookTarget
  /** The folder for what the hooks print. */
  readonly logs: string
  /** Ends what runs, and begins nothing more. */
  readonly force: AbortSignal
  readonly log: Log
}

/**
 * Runs hooks by hand, one after another, for nobody's page and without rows: they end with us where the system can tie
 * them to us. A background hook runs on beside the others once it has printed something, and is asked to end with the
 * last of them. Yields what came of each as soon as that is known.
 */
export async function* tryHooks(hooks: readonly TriedHook[], trial: Trial): AsyncGenerator<Tried, void> {
  const { target, logs, force, log } = trial
  const background: RunningHook[] = []
  for (const { event, hook } of hooks) {
    if (force.aborted) break
    const cwd = join(event === 'Snapshot' ? target.snapDir! : target.crawlDir, hook.plugin)
    const base = join(logs, hook.name)
    mkdirSync(cwd, { recursive: true })
    try {
      const places = { cwd, logs: { stdout: `${base}.stdout`, stderr: `${base}.stderr` } }
      const running = await start(hook, trial.settings, target, places)
      if (!hook.background) yield { hook, running, exit: await endOf(running, force) }
      else {
        background.push(running)
        if (await isReady(running, force)) yield { hook, running }
      }
    } catch (error) {
      yield { hook, exit: { code: NOT_STARTED, signal: null, error: `it cannot be started: ${messageOf(error)}` } }
    }
  }
  const budget = { capMs: Number.POSITIVE_INFINITY, over: force }
  for await (const { running, exit, killed } of terminateHooks(background, budget, log))
    yield { hook: running.hook, running, exit: afterAsking(exit, killed) }
}

/** Waits until a background hook has printed something, or its time is over; false: it has ended. */
async function isReady({ hook, startedAt, exited, logs }: RunningHook, force: AbortSignal): Promise<boolean> {
  let isOver = false
  void exited.then(() => (isOver = true))
  const isWaited = () => !isOver && !force.aborted && statSync(logs.stdout).size === 0
  while (isWaited() && performance.now() < startedAt + hook.timeoutMs) await sleep(READY_POLL_MS)
  return !isOver
}

/** Waits for the end of a foreground hook, and ends it when its time is over. */
async function endOf(running: RunningHook, force: AbortSignal): Promise<Exit> {
  const exit = await exitWithin(running, running.hook.timeoutMs, force)
  if (exit) await killLeftovers(running.family) // Processes that it left behind.
  if (exit) return exit
  const ended = await endForeground(running, force)
  const late = { error: `killed after its timeout of ${running.hook.timeoutMs / 1000} s`, code: LATE }
  return force.aborted ? ended : { ...ended, ...late }
}

/** How a background hook has ended that we asked to end. */
function afterAsking(exit: Exit, killed: boolean): Exit {
  if (killed) return { ...exit, error: 'killed: it did not end when it was asked to' }
  if (exit.error || exit.code === 0 || !endedAsAsked(exit)) return exit
  return { code: 0, signal: null, error: 'ended when it was asked to' }
}

/** Starts a hook as `launchHook` does, but without a row. Throws when it cannot be started. */
async function start(
  hook: Hook,
  settings: HookSettings,
  target: HookTarget,
  { cwd, logs }: { readonly cwd: string; readonly logs: HookLogs },
): Promise<RunningHook> {
  const processId = uuidv7()
  const containment = { tier: 'basic', deathSignal: await hasDeathSignal() } as const
  const container = containerFor(containment, { processId, workerId: processId }, commandOf(hook, target))
  const env = hookEnvironment(settings, target, [hook], { processId, workerId: processId, runnerId: processId })
  const startedAt = performance.now()
  const child = await spawned(() => spawnToFiles(container, cwd, env, logs))
  const ended = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
  const family = familyIn(container, processId, await identityOf(child.pid).catch(() => null))
  const limit = limitOutput([logs.stdout, logs.stderr], async () => {
    await killFamily(family)
  })
  const exited = ended.then(async (exit) => {
    const flood = await limit.end()
    return flood ? { ...exit, error: flood } : exit
  })
  const recorded = exited.then(() => {})
  return { hook, url: target.url, processId, pid: child.pid, logs, startedAt, family, exited, recorded }
}
