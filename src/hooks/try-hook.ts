import { uuidv7 } from '../base/ids.ts'
import { containerFor, familyIn } from '../processes/containment/containment.ts'
import { hasDeathSignal } from '../processes/containment/death-signal.ts'
import { killFamily } from '../processes/family.ts'
import { identityOf } from '../processes/identity.ts'
import { spawned } from '../processes/spawned.ts'
import { spawnToFiles } from './announced.ts'
import { commandOf } from './command.ts'
import type { Hook, HookSettings } from './discover.ts'
import { type HookTarget, hookEnvironment } from './environment.ts'
import type { Exit, HookLogs, RunningHook } from './launch.ts'
import { limitOutput } from './output-limit.ts'

/**
 * Starts a hook by hand, as `launchHook` does, but for no archived page and without rows: it ends with us where the
 * system can tie it to us. Throws when it cannot be started.
 */
export async function tryHook(
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
