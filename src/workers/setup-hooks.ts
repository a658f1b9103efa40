import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CrawlRow } from '../db/crawls.ts'
import { crawlSettings } from '../hooks/crawl-settings.ts'
import { selectHooks } from '../hooks/discover.ts'
import { describeExit } from '../hooks/terminate.ts'
import { prepareBinaries, resolvedBinaries } from './binaries.ts'
import { type HookSequence, logsFor } from './hook-sequence.ts'
import { providersAmong } from './providers.ts'
import type { WorkerProcessContext } from './worker-process.ts'

/**
 * Runs hooks for the whole crawl, such as a browser that all its pages share. A failed one is logged, and the crawl
 * continues without it.
 * @param claimed throws when the crawl is no longer ours
 * @returns whether a hook was cut off
 */
export async function runSetupHooks(
  context: WorkerProcessContext,
  sequence: HookSequence,
  crawl: CrawlRow,
  abort: AbortSignal,
  claimed: () => Promise<void>,
): Promise<boolean> {
  const { owner, runnerId, log } = context
  const { home } = owner
  const { texts: asked, plugins } = crawlSettings(home.dataDir, context.settings, crawl.config)
  const hooks = selectHooks(plugins, 'CrawlSetup', asked, crawl.config.plugins)
  const crawlDir = join(home.dataDir, crawl.output_dir)
  const url = crawl.urls.split('\n')[0] ?? ''
  const target = { dataDir: home.dataDir, crawlId: crawl.id, crawlDir, depth: 0, url }
  const provide = providersAmong(context, sequence, plugins, asked, target)
  await prepareBinaries(
    context,
    [...hooks, ...selectHooks(plugins, 'Snapshot', asked, crawl.config.plugins)],
    asked,
    provide,
    abort,
  )
  const binaries = await resolvedBinaries(home, hooks, asked)
  const settings = { ...asked, ...binaries.settings }
  const scope = { home, parentId: owner.processId, runnerId, containment: context.containment, target, settings }
  for (const hook of hooks) {
    if (abort.aborted || context.stop.drain.aborted) return false
    const missing = binaries.missing.get(hook.plugin)
    if (missing !== undefined) {
      log.warn(`${hook.name} on ${target.url} skipped: ${missing}`)
      continue
    }
    const cwd = join(crawlDir, hook.plugin)
    mkdirSync(cwd, { recursive: true })
    const way = hook.background ? 'background' : 'foreground'
    const end = await sequence[way](scope, hook, cwd, logsFor(crawlDir, hook, 1), abort, claimed)
    if (end?.cause === 'interrupt') return true
    if (end && end.exit.code !== 0)
      log.warn(`${hook.name} on ${target.url} failed: ${describeExit(end.exit)} (see ${end.logs.stderr})`)
  }
  return false
}
