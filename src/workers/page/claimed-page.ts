import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { readSetting } from '../../base/config.ts'
import type { Context } from '../../engine/handlers.ts'
import { crawlSettings, pageSettings } from '../../hooks/crawl-settings.ts'
import { type Hook, selectHooks } from '../../hooks/discover.ts'
import { noteMeanings } from '../../hooks/note-meanings.ts'
import { lackingPlugins } from '../../hooks/required-plugins.ts'
import { WorkTree } from '../../hooks/work-tree.ts'
import { hookRetries } from '../../machines/archive-result.ts'
import type { CrawlOfPage } from '../../machines/before-page.ts'
import type { SnapshotClaim } from '../../machines/queues.ts'
import type { HookSequence } from '../sequence/hook-sequence.ts'
import { resolvedBinaries } from '../sequence/resolved-binaries.ts'
import type { WorkerProcessContext } from '../supervise/worker-process.ts'
import { CrawlServices } from './crawl-services.ts'
import { Findings } from './findings.ts'
import type { PageInWork } from './page-in-work.ts'
import { PageResults } from './page-results.ts'
import type { HookState, PageState } from './page-state.ts'
import { withRequired } from './runs-again.ts'

/**
 * Takes up a claimed page: prepares the work on it, with what is known before its rows are read.
 * @param givenUp why none of its hooks is to run any more
 */
export async function takeUp(
  context: WorkerProcessContext,
  sequence: HookSequence,
  claim: SnapshotClaim,
  crawl: CrawlOfPage,
  tick: Context,
  givenUp: string | undefined,
): Promise<{ readonly page: PageInWork; readonly claimed: PageState }> {
  const { owner, runnerId, containment } = context
  const { home } = owner
  const { row } = claim
  const asked = await whatToRun(context, claim, crawl)
  const { hooks, settings, daemons, serving } = asked
  const results = new PageResults(owner, claim, {
    begun: () => tick.holds({ ...claim, state: 'started' }),
    lost: (why) => tick.lost(why),
  })
  const tree = new WorkTree(join(home.dataDir, row.output_dir), () => results.confirm(), containment.account)
  mkdirSync(tree.root, { recursive: true })
  const served = { home, id: crawl.id, workerId: context.parentId, unable: crawl.unable }
  const target = {
    dataDir: home.dataDir,
    crawlId: crawl.id,
    crawlDir: join(home.dataDir, crawl.output_dir),
    snapshotId: row.id,
    snapDir: tree.work,
    publishedDir: tree.root,
    earlierDir: earlierDir(home.dataDir, claim, asked.settingsOfPage),
    depth: row.depth,
    url: row.url,
  }
  sequence.onStep = (withinMs) => tick.progress(withinMs)
  const retries = hookRetries(settings)
  const page: PageInWork = {
    ...{ context, claim, crawl, tick, sequence, tree, results, retries },
    hooks,
    settings: asked.settingsOfPage,
    scope: { home, parentId: owner.processId, runnerId, containment, target, settings },
    services: new CrawlServices(served, daemons, new Set(serving)),
    findings: new Findings(),
  }
  const claimed: PageState = {
    stage: 'claimed',
    former: row.before.former,
    whyNot: givenUp === undefined ? undefined : { kind: 'given up', reason: givenUp },
    hooks: hookStates(asked, crawl),
    unable: crawl.unable,
    serving,
    mostRetries: retries.most,
    hidden: {},
    gone: [],
    ...{ isShared: false, isFile: false, service: 'well', hasProgressed: false, wasCutOff: false },
    stop: { how: 'none', isExplained: false },
  }
  return { page, claimed }
}

/** The hooks of a page by its settings, those of its crawl included, and what they need. */
async function whatToRun(
  { owner: { home }, settings, log }: WorkerProcessContext,
  { row }: SnapshotClaim,
  crawl: CrawlOfPage,
) {
  const ofCrawl = crawlSettings(home.dataDir, settings, crawl.config)
  const { plugins } = ofCrawl
  await noteMeanings(home.db, plugins)
  const settingsOfPage = pageSettings(home.dataDir, settings, ofCrawl, row.settings, (why) =>
    log.warn(`page ${row.url}: ${why}; it counts as not set`),
  )
  const hooks = selectHooks(plugins, 'Snapshot', settingsOfPage, crawl.config.plugins, row.url)
  const setUp = selectHooks(plugins, 'CrawlSetup', ofCrawl.texts, crawl.config.plugins)
  const binaries = await resolvedBinaries(home, [...hooks, ...setUp], settingsOfPage)
  const daemons = new Set(setUp.filter(({ background }) => background).map(({ plugin }) => plugin))
  const own = new Set(plugins.filter(({ builtIn }) => builtIn).map(({ name }) => name))
  return {
    settingsOfPage,
    settings: { ...settingsOfPage, ...binaries.settings },
    hooks,
    missing: new Map([...lackingPlugins(plugins, settingsOfPage, binaries.missing), ...binaries.missing]),
    daemons,
    // Our own browser is restarted by its hook, and our own hooks visit the page again.
    serving: [...daemons].filter((plugin) => !own.has(plugin)),
  }
}

function hookStates(
  { hooks, missing, daemons }: Awaited<ReturnType<typeof whatToRun>>,
  { config }: CrawlOfPage,
): HookState[] {
  const isAskedFor = ({ plugin }: Hook) => config.plugins?.includes(plugin) ?? false
  const needsService = ({ plugin }: Hook) => [...withRequired(hooks, [plugin])].some((name) => daemons.has(name))
  return hooks.map((hook) => ({
    hook,
    at: hook.needsFile && !isAskedFor(hook) ? 'late' : 'open',
    lacks: missing.get(hook.plugin),
    needsService: needsService(hook),
  }))
}

/** The folder of the latest other copy of its URL, whose files are reused where they are the same. */
function earlierDir(dataDir: string, { row }: SnapshotClaim, settings: PageInWork['settings']): string | undefined {
  const { earlier } = row.before
  return earlier !== null && readSetting('REUSE_UNCHANGED', settings) ? join(dataDir, earlier) : undefined
}
