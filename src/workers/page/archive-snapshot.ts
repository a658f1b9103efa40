import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { attemptName, HOSTED_LOG } from '../../base/attempt-paths.ts'
import { readSetting } from '../../base/config.ts'
import { failpoint } from '../../base/failpoint.ts'
import { forgetEnds } from '../../base/row-log.ts'
import { isFull } from '../../db/counts.ts'
import { resultsOfPage } from '../../db/results.ts'
import type { Context } from '../../engine/handlers.ts'
import { ENDED, Ended, RELEASED } from '../../engine/outcome.ts'
import { ClaimLost } from '../../engine/queue.ts'
import { crawlSettings, pageSettings } from '../../hooks/crawl-settings.ts'
import { type Hook, selectHooks } from '../../hooks/discover.ts'
import { lackingPlugins } from '../../hooks/required-plugins.ts'
import { WorkTree } from '../../hooks/work-tree.ts'
import { prepareResults } from '../../machines/prepare-results.ts'
import type { Owner, SnapshotClaim, snapshotQueue } from '../../machines/queues.ts'
import { type ResultRow, repeatResults } from '../../machines/results.ts'
import { snapshotMachine } from '../../machines/snapshot.ts'
import { sizeText } from '../../pages/layout.ts'
import { sealByRows } from '../repair/seal-by-rows.ts'
import { resolvedBinaries } from '../sequence/binaries.ts'
import type { HookSequence } from '../sequence/hook-sequence.ts'
import { endWorkers } from '../supervise/reap.ts'
import type { WorkerProcessContext } from '../supervise/worker-process.ts'
import { CrawlServices } from './crawl-services.ts'
import type { Repeated } from './hook-ends.ts'
import { isFinal, pairsOf } from './hook-rows.ts'
import { awaitTurn } from './host-manners.ts'
import { ALLOWED, permissionFor } from './page-refusal.ts'
import { PageResults } from './page-results.ts'
import { runsAgain } from './runs-again.ts'
import { sealSnapshot } from './seal-snapshot.ts'
import { SnapshotHooks } from './snapshot-hooks.ts'

type SnapshotQueue = ReturnType<typeof snapshotQueue>

const NOTHING_REPEATED: Repeated = { results: new Set(), files: new Map() }
/** When a browser is gone, its crawl's worker notices before that, and begins no page until there is another one. */
const RESTART_MS = 2_000
const MOST_ATTEMPTS = snapshotMachine.states.started.giveUp.after
const SPENT = `${MOST_ATTEMPTS} attempts at this page did not finish`
const GIVEN_UP = `given up: ${SPENT}: its worker or runner died, or was stopped, each time`

/**
 * Archives one claimed snapshot: runs the hooks without a final result, publishes their outputs, adds the pages they
 * found, writes the index page and seals. It releases the snapshot instead when hooks remain to be run: after a drain,
 * or when a hook failed temporarily. Throws ClaimLost when another worker owns the row by now.
 * @param tick its signal aborts on force, when the lease is lost, and when the time is over: all work stops then
 * @param isGivenUp fails the open hooks unrun, because one of them ended its worker in every attempt
 */
export async function archiveSnapshot(
  context: WorkerProcessContext,
  queue: SnapshotQueue,
  sequence: HookSequence,
  claim: SnapshotClaim,
  tick: Context,
  isGivenUp: boolean,
): Promise<Ended> {
  const { owner, runnerId, log, stop } = context
  const { home } = owner
  const abort = tick.signal
  const snapshot = claim.row
  const { crawl, former, earlier } = snapshot.before
  if (!crawl) throw new ClaimLost(`snapshot ${claim.id} was deleted`)
  if (isGivenUp && claim.attempts > MOST_ATTEMPTS + 1) return await sealByRows(context, queue, claim, GIVEN_UP)

  const ofCrawl = crawlSettings(home.dataDir, context.settings, crawl.config)
  const { plugins } = ofCrawl
  const asked = pageSettings(home.dataDir, context.settings, ofCrawl, snapshot.settings, (why) =>
    log.warn(`page ${snapshot.url}: ${why}; it counts as not set`),
  )
  // One that was begun is finished, after a pause or in a further attempt, too.
  const isBeyond =
    claim.state === 'queued' && (await isFull(home.db, crawl)) && (await resultsOfPage(home.db, claim.id)).length === 0
  const hooks = isBeyond ? [] : selectHooks(plugins, 'Snapshot', asked, crawl.config.plugins, snapshot.url)
  const setUp = selectHooks(plugins, 'CrawlSetup', ofCrawl.texts, crawl.config.plugins)
  const binaries = await resolvedBinaries(home, [...hooks, ...setUp], asked)
  const missing = new Map([...lackingPlugins(plugins, asked, binaries.missing), ...binaries.missing])
  const settings = { ...asked, ...binaries.settings }
  const pageResults = new PageResults(owner, claim)
  const folder = join(home.dataDir, snapshot.output_dir)
  const tree = new WorkTree(folder, () => pageResults.confirm(), context.containment.account)
  mkdirSync(tree.root, { recursive: true })
  await endWorkers(owner, former)
  const isAsked = !isGivenUp && hooks.length > 0
  const { refusal, delayMs, isForNow = false } = isAsked ? await permissionFor(owner, claim, asked, abort) : ALLOWED
  const isBegun = isAsked && refusal === undefined
  const putOffMs = isBegun ? await awaitTurn(owner, claim, asked, delayMs, abort) : undefined
  if (putOffMs !== undefined) {
    if (!(await queue.release(claim, putOffMs))) throw new ClaimLost(`snapshot ${claim.id} was taken away`)
    await failpoint('claim.turn_put_off')
    return RELEASED
  }
  const target = {
    dataDir: home.dataDir,
    crawlId: crawl.id,
    crawlDir: join(home.dataDir, crawl.output_dir),
    snapshotId: snapshot.id,
    snapDir: tree.work,
    publishedDir: tree.root,
    earlierDir: earlier !== null && readSetting('REUSE_UNCHANGED', asked) ? join(home.dataDir, earlier) : undefined,
    depth: snapshot.depth,
    url: snapshot.url,
  }
  const isAskedFor = ({ plugin }: Hook) => crawl.config.plugins?.includes(plugin) ?? false
  const onAnyPage = hooks.filter((hook) => !hook.needsFile || isAskedFor(hook))
  const [first] = onAnyPage
  const firstIn = first?.hosted && !missing.has(first.plugin) && isBegun ? await sequence.hostId() : undefined
  sequence.onStep = (withinMs) => tick.progress(withinMs)
  const results = await prepareResults(owner, claim, onAnyPage, firstIn)
  for (const row of results) if (row.status === 'started') pageResults.knows(row, firstIn!)
  const started = { ...claim, state: 'started' } as SnapshotClaim<'started'>
  tick.holds(started)
  await failpoint('claim.results_prepared')
  const daemons = new Set(setUp.filter(({ background }) => background).map(({ plugin }) => plugin))
  const own = new Set(plugins.filter(({ builtIn }) => builtIn).map(({ name }) => name))
  // Our own browser is started again by its hook, and our own hooks visit the page again.
  const serving = new Set([...daemons].filter((plugin) => !own.has(plugin)))
  const served = { home, id: crawl.id, workerId: context.parentId, unable: crawl.unable }
  const services = await CrawlServices.look(served, hooks, daemons, serving)
  const repeated = isGivenUp ? NOTHING_REPEATED : await repeat(owner, claim, tree, hooks, results, serving)
  const run = new SnapshotHooks({
    context,
    sequence,
    claim,
    tree,
    results: pageResults,
    scope: { home, parentId: owner.processId, runnerId, containment: context.containment, target, settings },
    abort,
    repeated,
    services,
  })
  if (isGivenUp) await run.giveUp(hooks, results, GIVEN_UP)
  else if (refusal !== undefined) await run.refuse(hooks, results, refusal, isForNow)
  else await run.run(hooks, results, missing, new Map(Object.entries(crawl.unable)))
  const lostService = await run.ends.lostService()
  if (run.unfinished || lostService) {
    await pageResults.write()
    if (lostService)
      await doAgain(
        owner,
        claim,
        tree,
        run.ends.doubtful.map(({ result }) => result),
      )
    if (abort.aborted && !stop.force.aborted) throw abort.reason
    // Nobody can tell who sent a signal or killed our supervisor: a hook of this page may have, and may do so again.
    // The same goes for who ended a browser.
    const counts = lostService || (run.ends.cameToNothing && !stop.isExplained)
    await tree.keep() // A person may pause the page meanwhile, and then its results count.
    const waitMs = lostService ? RESTART_MS : run.waitMs
    if (!(await queue.release(started, waitMs, counts))) throw new ClaimLost(`snapshot ${claim.id} was taken away`)
    await failpoint('claim.snapshot_released')
    return run.ends.gotSomewhere && !lostService ? ENDED : RELEASED
  }
  const whyNone = isBeyond ? `not begun: the crawl has reached its --max-size, ${sizeText(crawl.max_size)}` : undefined
  const page = { crawl, tree, hooks, found: run.ends.findings, results: pageResults, whyNone, log }
  const { end, next } = await sealSnapshot(owner, queue, started, page, tick)
  log.about({ crawl_id: crawl.id, snapshot_id: snapshot.id }).ended(end)
  return new Ended(next)
}

/** Queues results whose hooks run again. Their ends go first: the next owner would take them for those of its own. */
async function doAgain(owner: Owner, claim: SnapshotClaim, tree: WorkTree, results: readonly ResultRow[]) {
  const names = results.map(({ plugin, hook_name, attempt }) => attemptName(plugin, hook_name, attempt))
  forgetEnds(join(tree.root, HOSTED_LOG), names)
  return await repeatResults(owner, claim, results)
}

/**
 * Queues results again whose hooks must run again; in `results`, too. Among them are those whose files are not on this
 * disk: another machine has begun the page, or the database was restored without files. Not those from before a retry
 * of the page: a person may have moved their files, and what was there then cannot always be had again.
 */
async function repeat(
  owner: Owner,
  claim: SnapshotClaim,
  tree: WorkTree,
  hooks: readonly Hook[],
  results: ResultRow[],
  services: ReadonlySet<string>,
): Promise<Repeated> {
  // A worker that died between the two renames of a publication has left the files under another name.
  if (results.some((row) => row.has_files)) await tree.reconcilePublished()
  const begunAt = claim.state === 'started' ? claim.row.status_changed_at : undefined
  const isOfNow = ({ end_ts }: ResultRow) => begunAt !== undefined && end_ts !== null && end_ts >= begunAt
  const isLost = (row: ResultRow) => isFinal(row) && row.has_files && isOfNow(row) && !tree.isPublished(row.plugin)
  const rows = results.map((row) => (isLost(row) ? { ...row, status: 'queued' as const } : row))
  const ids = new Set(results.filter(isLost).map(({ id }) => id))
  for (const { result } of runsAgain(pairsOf(hooks, rows), services)) ids.add(result.id)
  if (ids.size === 0) return NOTHING_REPEATED
  const again = results.filter(({ id }) => ids.has(id))
  const files = await doAgain(owner, claim, tree, again)
  for (const row of again) results[results.indexOf(row)] = { ...row, status: 'queued' }
  return { results: ids, files }
}
