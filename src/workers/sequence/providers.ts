import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { isExecutable } from '../../base/find-program.ts'
import type { BinaryRow } from '../../db/binaries.ts'
import type { Context } from '../../engine/handlers.ts'
import { type Hook, type HookSettings, type Plugin, selectHooks } from '../../hooks/discover.ts'
import type { HookTarget } from '../../hooks/environment.ts'
import { freeze, handOver } from '../../hooks/hand-over.ts'
import { readRecords } from '../../hooks/records.ts'
import { providersOf } from '../../hooks/upstream/search.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import { logsFor } from './hook-logs.ts'
import type { HookSequence } from './hook-sequence.ts'

/** The plugins that provide programs. */
export interface Provide {
  /** Whether there is a plugin for this provider. */
  serves(provider: string): boolean
  /** Lets a plugin provide a program; returns its path, if any plugin could. */
  ask(row: BinaryRow, tick: Context): Promise<string | undefined>
}

/**
 * The plugins that can provide programs: those with `on_BinaryRequest` or `on_Install` hooks. They run one after
 * another, with `--name`, `--binproviders` and `--min-version`, until one prints a `Binary` record that names an
 * executable; for several programs, too, since package managers lock what they share.
 */
export function providersAmong(
  context: WorkerContext,
  sequence: HookSequence,
  plugins: readonly Plugin[],
  settings: HookSettings,
  target: HookTarget,
): Provide {
  const { owner, runnerId, containment, log } = context
  const hooks = (['BinaryRequest', 'Install'] as const).flatMap((event) => selectHooks(plugins, event, settings))
  const provide: Provide['ask'] = async (row, tick) => {
    const providers = providersOf(row.binproviders)
    const root = join(target.dataDir, 'binaries', row.id)
    for (const hook of hooks.filter(({ plugin }) => providers.includes('*') || providers.includes(plugin))) {
      if (tick.signal.aborted || context.stop.drain.aborted) return undefined
      tick.progress(hook.timeoutMs)
      const args = [
        `--name=${row.name}`,
        `--binproviders=${row.binproviders}`,
        ...(row.min_version ? [`--min-version=${row.min_version}`] : []),
      ]
      const scope = {
        home: owner.home,
        parentId: owner.processId,
        runnerId,
        containment,
        settings,
        target: { ...target, args },
      }
      const abspath = await askOne(sequence, scope, hook, root, row.name, tick.signal)
      if (abspath !== undefined) return abspath
      log.warn(`${hook.plugin} cannot provide ${row.name} (see ${logsFor(root, hook, 1).stderr})`)
    }
    return undefined
  }
  let before: Promise<unknown> = Promise.resolve()
  const ask: Provide['ask'] = async (row, tick) => {
    const provided = before.then(() => provide(row, tick))
    before = provided.catch(() => {})
    return await provided
  }
  return { ask, serves: (provider) => hooks.some(({ plugin }) => plugin === provider) }
}

async function askOne(
  sequence: HookSequence,
  scope: Parameters<HookSequence['foreground']>[0],
  hook: Hook,
  root: string,
  name: string,
  abort: AbortSignal,
): Promise<string | undefined> {
  const cwd = join(root, hook.plugin)
  freeze(cwd)
  mkdirSync(cwd, { recursive: true })
  handOver(cwd, scope.containment.account)
  const end = await sequence.foreground(scope, hook, cwd, logsFor(root, hook, 1), abort, async () => {})
  await end.recorded
  if (end.cause !== 'exit' || end.exit.code !== 0) return undefined
  const { binaries } = await readRecords(end.logs.stdout)
  return binaries.find((binary) => binary.name === name && isExecutable(binary.abspath))?.abspath
}
