import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import { crawlOfPage } from '../db/crawls.ts'
import { hookSupervisors } from '../db/processes.ts'
import type { Context } from '../engine/handlers.ts'
import { ENDED, type Ended } from '../engine/outcome.ts'
import { ClaimLost } from '../engine/queue.ts'
import { crawlSettings } from '../hooks/crawl-settings.ts'
import { selectHooks } from '../hooks/discover.ts'
import { WorkTree } from '../hooks/work-tree.ts'
import type { SnapshotClaim, snapshotQueue } from '../machines/queues.ts'
import { prepareResults } from '../machines/results.ts'
import { snapshotMachine } from '../machines/snapshot.ts'
import { resolvedBinaries } from './binaries.ts'
import type { HookSequence } from './hook-sequence.ts'
import { PageResults } from './page-results.ts'
import { endWorkers } from './reap.ts'
import { sealSnapshot } from './seal-snapshot.ts'
import { SnapshotHooks } from './snapshot-hooks.ts'
import type { WorkerContext } from './worker-context.ts'

type SnapshotQueue = ReturnType<typeof snapshotQueue>

const SPENT = `${snapshotMachine.states.started.giveUp.after} attempts at this page did not finish`
const GIVEN_UP = `given up: ${SPENT}: its worker or runner died, or was stopped, each time`

/**
 * Archives one claimed snapshot: runs the hooks without a final result, publishes their outputs, adds the pages they
 * found, writes the index page and seals. It releases the snapshot instead when hooks remain to be run: after a drain,
 * or when a hook failed temporarily. Throws ClaimLost when another worker owns the row by now.
 * @param tick its signal aborts on force, when the lease is lost, and when the time is over: all work stops then
 * @param isGivenUp fails the open hooks unrun, because one of them ended its worker in every attempt
 */
export async function archiveSnapshot(
  context: WorkerContext,
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
  const crawl = await crawlOfPage(home.db, snapshot.crawl_id, hookSupervisors(home, { snapshotId: snapshot.id }))
  if (!crawl) throw new ClaimLost(`snapshot ${claim.id} was deleted`)

  const { texts: asked, plugins } = crawlSettings(home.dataDir, context.settings, crawl.config)
  const hooks = selectHooks(plugins, 'Snapshot', asked, crawl.config.plugins)
  const binaries = await resolvedBinaries(home, hooks, asked)
  const settings = { ...asked, ...binaries.settings }
  const pageResults = new PageResults(owner, claim)
  const tree = new WorkTree(join(home.dataDir, snapshot.output_dir), () => pageResults.confirm())
  mkdirSync(tree.root, { recursive: true })
  await endWorkers(owner, crawl.former)
  const target = {
    dataDir: home.dataDir,
    crawlId: crawl.id,
    crawlDir: join(home.dataDir, crawl.output_dir),
    snapshotId: snapshot.id,
    snapDir: tree.work,
    publishedDir: tree.root,
    depth: snapshot.depth,
    url: snapshot.url,
  }
  const run = new SnapshotHooks(
    context,
    sequence,
    claim,
    tree,
    pageResults,
    { home, parentId: owner.processId, runnerId, containment: context.containment, target, settings },
    abort,
  )
  const [first] = hooks
  const firstIn =
    first?.hosted && !binaries.missing.has(first.plugin) && !isGivenUp ? await sequence.hostId() : undefined
  sequence.onStep = (withinMs) => tick.progress(withinMs)
  const results = await prepareResults(owner, claim, hooks, firstIn)
  for (const row of results) if (row.status === 'started') pageResults.knows(row, firstIn!)
  const started = { ...claim, state: 'started' } as SnapshotClaim<'started'>
  tick.holds(started)
  await failpoint('claim.results_prepared')
  if (isGivenUp) await run.giveUp(hooks, results, GIVEN_UP)
  else await run.run(hooks, results, binaries.missing)
  if (run.unfinished) {
    await pageResults.write()
    if (abort.aborted && !stop.force.aborted) throw abort.reason
    // Nobody can tell who sent a signal or killed our supervisor: a hook of this page may have, and may do so again.
    const counts = run.cameToNothing && !stop.isExplained
    if (!(await queue.release(started, run.waitMs, counts))) throw new ClaimLost(`snapshot ${claim.id} was taken away`)
    await failpoint('claim.snapshot_released')
    return ENDED
  }
  await pageResults.write()
  const end = await sealSnapshot(context.owner, queue, started, crawl, tree, hooks, run)
  log.about({ crawl_id: crawl.id, snapshot_id: snapshot.id }).ended(end)
  return ENDED
}
