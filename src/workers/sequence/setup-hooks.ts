import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CrawlRow } from '../../db/crawls.ts'
import { crawlSettings } from '../../hooks/crawl-settings.ts'
import { selectHooks } from '../../hooks/discover.ts'
import { freeze, handOver } from '../../hooks/hand-over.ts'
import type { Exit } from '../../hooks/launch.ts'
import { lackingPlugins } from '../../hooks/required-plugins.ts'
import { describeExit } from '../../hooks/terminate.ts'
import { needs } from '../../machines/cause.ts'
import type { WorkerProcessContext } from '../supervise/worker-process.ts'
import { prepareBinaries } from './binaries.ts'
import type { HookEnd } from './hook-end.ts'
import { logsFor } from './hook-logs.ts'
import type { HookSequence } from './hook-sequence.ts'
import { EXIT_SKIPPED, lastLine } from './hook-settle.ts'
import { providersAmong } from './providers.ts'
import { resolvedBinaries } from './resolved-binaries.ts'

/** A background hook that exits with success may leave a browser running for the crawl. */
export const hasFailed = ({ code }: Exit) => code !== 0 && code !== EXIT_SKIPPED

/** Whether anything has to be prepared for the pages of a crawl. */
export function hasSetupHooks({ owner, settings }: WorkerProcessContext, { config }: CrawlRow): boolean {
  const { texts, plugins } = crawlSettings(owner.home.dataDir, settings, config)
  return selectHooks(plugins, 'CrawlSetup', texts, config.plugins).length > 0
}

/** How the set-up of a crawl went. */
export interface SetUp {
  /** A hook was cut off. */
  readonly isCutOff: boolean
  /** Plugins that cannot serve the pages, with the reason; undefined when a drain came first. */
  readonly unable?: ReadonlyMap<string, string>
}

/**
 * Runs hooks for the whole crawl, such as a browser that all its pages share. A failed one is logged, and the crawl
 * continues without it. Hooks of a plugin that has failed in the background are skipped, and so are those of plugins
 * that require one that failed: they would only wait.
 * @param claimed throws when the crawl is no longer ours
 */
export async function runSetupHooks(
  context: WorkerProcessContext,
  sequence: HookSequence,
  crawl: CrawlRow,
  abort: AbortSignal,
  claimed: () => Promise<void>,
): Promise<SetUp> {
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
  const lacking = lackingPlugins(plugins, asked, binaries.missing)
  const settings = { ...asked, ...binaries.settings }
  const scope = { home, parentId: owner.processId, runnerId, containment: context.containment, target, settings }
  const unable = new Map<string, string>()
  const down = new Set<string>()
  const judge = ({ hook, exit, cause, logs }: HookEnd) => {
    if (!hasFailed(exit)) return void unable.delete(hook.plugin)
    const late = cause === 'timeout' ? `timed out after ${hook.timeoutMs / 1000} s` : ''
    const why = `${hook.name} failed: ${late || lastLine(logs.stderr) || describeExit(exit)}`
    log.warn(`${why} (on ${target.url}, see ${logs.stderr})`)
    if (hook.background && sequence.background.runsBefore(hook)) return
    unable.set(hook.plugin, why)
    if (hook.background) down.add(hook.plugin)
  }
  for (const hook of hooks) {
    if (abort.aborted || context.stop.drain.aborted) return { isCutOff: false }
    const lost = down.has(hook.plugin) ? hook.plugin : hook.requires.find((required) => unable.has(required))
    const lacks = binaries.missing.get(hook.plugin) ?? lacking.get(hook.plugin) ?? (lost && needs(lost))
    if (lacks !== undefined) {
      log.warn(`${hook.name} on ${target.url} skipped: ${lacks}`)
      continue
    }
    const cwd = join(crawlDir, hook.plugin)
    mkdirSync(cwd, { recursive: true })
    // While a hook of its plugin runs, the folder belongs to the account already.
    if (!sequence.background.runsBefore(hook)) {
      freeze(cwd)
      handOver(cwd, context.containment.account)
    }
    const end = await sequence.run(scope, hook, cwd, logsFor(crawlDir, hook, 1), abort, claimed)
    await end?.recorded
    if (end?.cause === 'interrupt') return { isCutOff: true }
    if (end) judge(end)
    else unable.delete(hook.plugin)
    for (const ended of await sequence.background.reap(hasFailed)) judge(ended)
  }
  return { isCutOff: false, unable }
}
