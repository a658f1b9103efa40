// No statement may read a whole table, however large that has become: every statement of src/db, and of the way of a
// row from its claim to its seal, is noted as it is sent, and its plan is read. A function or a statement that is new,
// and is not sent here, fails the test.

import { globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { queueStatements } from '../../../scripts/write-statements.ts'
import { uuidv7 } from '../../../src/base/ids.ts'
import { Meanings } from '../../../src/base/makes.ts'
import { UrlList } from '../../../src/base/url-list.ts'
import * as archived from '../../../src/db/archived-pages.ts'
import * as backups from '../../../src/db/backups.ts'
import * as binaries from '../../../src/db/binaries.ts'
import { cancelledPages, lookAgainLater, watchPages } from '../../../src/db/cancelled-pages.ts'
import * as changes from '../../../src/db/changes.ts'
import {
  addUpCounts,
  allPages,
  endedTotals,
  isCrawlFull,
  pageCount,
  rowCounts,
  sealedPageCount,
} from '../../../src/db/counts.ts'
import { crawlHooks } from '../../../src/db/crawl-hooks.ts'
import { crawlProgress, madeBy, onlyPageOf, skippedFor } from '../../../src/db/crawl-progress.ts'
import { insertParts, listOf, lockNextPart, passPart } from '../../../src/db/crawl-sources.ts'
import * as summaries from '../../../src/db/crawl-summaries.ts'
import * as crawls from '../../../src/db/crawls.ts'
import { connectAhead, type Database, openDatabase, ping } from '../../../src/db/database.ts'
import { eachRow } from '../../../src/db/each-row.ts'
import { failureGroups, latestFailures } from '../../../src/db/failures.ts'
import * as fileJobs from '../../../src/db/file-jobs.ts'
import { heartbeat, sayThere, settleHeartbeats } from '../../../src/db/heartbeats.ts'
import { deleteEndedProcesses, deleteOldTransitions } from '../../../src/db/history.ts'
import type { Home } from '../../../src/db/home.ts'
import * as turns from '../../../src/db/host-turns.ts'
import * as uses from '../../../src/db/host-use.ts'
import { isThere } from '../../../src/db/is-there.ts'
import { latestRows } from '../../../src/db/latest-rows.ts'
import * as leads from '../../../src/db/leads.ts'
import { byIndex, inOneMoment } from '../../../src/db/lists/by-index.ts'
import { eachListed } from '../../../src/db/lists/each-listed.ts'
import {
  CRAWLS,
  type Filters,
  idsInRanges,
  type Listing,
  listedByIds,
  RESULTS,
  SNAPSHOTS,
} from '../../../src/db/lists/listings.ts'
import { machineById, machineRow, machines } from '../../../src/db/machines.ts'
import { mayPause } from '../../../src/db/may-pause.ts'
import * as meanings from '../../../src/db/meanings.ts'
import { planMigration } from '../../../src/db/migration-plan.ts'
import { runningRow } from '../../../src/db/new-process.ts'
import * as nodeList from '../../../src/db/node-list.ts'
import * as nodePages from '../../../src/db/node-pages.ts'
import * as nodes from '../../../src/db/nodes.ts'
import { openSnapshots } from '../../../src/db/open-snapshots.ts'
import { claimedCrawls, pagesInWork } from '../../../src/db/pages-in-work.ts'
import * as rows from '../../../src/db/process-rows.ts'
import * as processes from '../../../src/db/processes.ts'
import * as queueHistory from '../../../src/db/queue-history.ts'
import * as recorded from '../../../src/db/recorded-files.ts'
import * as results from '../../../src/db/results.ts'
import * as runners from '../../../src/db/runners.ts'
import * as schedules from '../../../src/db/schedules.ts'
import { SealedPages } from '../../../src/db/sealed-pages.ts'
import { replication, serverClock, serverIdentity, serverSize } from '../../../src/db/server-identity.ts'
import * as snapshots from '../../../src/db/snapshots.ts'
import * as tags from '../../../src/db/tags.ts'
import * as terms from '../../../src/db/terms.ts'
import { dueNow, unfinished } from '../../../src/db/unfinished.ts'
import * as sessions from '../../../src/db/web-sessions.ts'
import { addCrawlWithPages, addPages, addPausedPages } from '../../../src/machines/add-pages.ts'
import * as adopt from '../../../src/machines/adopt.ts'
import * as commands from '../../../src/machines/commands.ts'
import * as deletion from '../../../src/machines/deletion.ts'
import { ALL_ENDED, finishPage, skipOpenResults } from '../../../src/machines/finish-page.ts'
import { handledWithin } from '../../../src/machines/handled.ts'
import { judge, recordVerdicts } from '../../../src/machines/judge.ts'
import * as lookUpAgain from '../../../src/machines/look-up-again.ts'
import { addResults, prepareResults } from '../../../src/machines/prepare-results.ts'
import * as queues from '../../../src/machines/queues.ts'
import { reconcileSchedules } from '../../../src/machines/reconcile-schedules.ts'
import { requeue } from '../../../src/machines/requeue.ts'
import * as hookResults from '../../../src/machines/results.ts'
import { onLostNodes, retry } from '../../../src/machines/retry.ts'
import * as scheduled from '../../../src/machines/scheduled-crawls.ts'
import { isWithin, openCrawls } from '../../../src/machines/scope.ts'
import { startAtOnce } from '../../../src/machines/start-crawl.ts'
import { takePageHome } from '../../../src/machines/take-home.ts'
import { sealCrawl } from '../../../src/workers/crawl/crawl-ends.ts'
import { endFormerWorkers } from '../../../src/workers/supervise/reap.ts'
import { makeLargeArchive } from '../../bench/large-archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { type Plan, PreparedStatements, wholeReads } from '../../support/plans.ts'
import { ROOT } from '../../support/program.ts'
import { Recorder, type Sent } from '../../support/recorder.ts'
import { templatesIn } from '../../support/templates.ts'

const NAME = 'the recorded'
const PAGES = 20_000
const MANY = 20_000
/** Tables that grow with the archive. */
const LARGE = [
  ...['crawl', 'crawl_source', 'snapshot', 'archive_result', 'transition', 'process', 'page_url', 'snapshot_tag'],
  ...['crawl_total', 'cancelled_page', 'archived_page', 'host_turn', 'host_total'],
]
/** Where every statement must have been sent. */
const COVERED = [...globSync('src/{db,db/lists,machines}/*.ts', { cwd: ROOT })].filter(
  (file) => !/db.(migrate|notifications|retry)\.ts$/.test(file),
) // They make tables, listen, and send for others.

const homes = useHomes()
let test: TestHome
let db: Database
let home: Home

const crawl = uuidv7()
const worker = uuidv7()
const hash = Buffer.alloc(32, 1)
const other = uuidv7()
const token = uuidv7()
const identity = { bootId: 'boot', pidNamespace: 'pid:[1]', pid: 1, startTicks: 1 }
const hook = { processType: 'hook', parentId: null, runnerId: null, pwd: '/', cmd: ['true'] } as const
const program = { id: other, abspath: '/x' } as binaries.BinaryRow
const pageNamed = (name: string) => ({ url: `https://example.com/${name}` })
const inTransaction = <T>(work: (tx: Database) => Promise<T>) => db.transaction().execute(work)
const owner = (inside = home): queues.Owner => ({ home: inside, processId: worker, term: 1 })

const newCrawl = (...others: string[]): crawls.NewCrawl => {
  const list = new UrlList(
    1 + others.length,
    { urls: 'https://example.com/', details: '{"tags":["a"]}' },
    others.map((urls) => () => ({ urls, details: '' })),
  )
  return { list, maxDepth: 0, maxUrls: 9, maxSize: 0, tags: ['news'], label: '', config: {} }
}

async function startedPage() {
  const queue = queues.snapshotQueue(owner(), worker, {})
  const claim = await queue.next()
  if (claim?.state !== 'queued') throw new Error('no page is due')
  return { queue, claim: await queue.move(claim, 'start', worker) }
}

/** A home whose database breaks its connection at the first statement of the state engine. */
function brokenOnce(): Home {
  let broken = false
  const get = (target: Database, key: keyof Database) => {
    const value: unknown = target[key]
    if (key === 'executeQuery' && !broken) {
      broken = true
      return () => Promise.reject(Object.assign(new Error('cut'), { code: '08006' }))
    }
    return typeof value === 'function' ? value.bind(target) : value
  }
  return { ...home, db: new Proxy(db, { get: (target, key) => get(target, key as keyof Database) }) }
}

const FILTERS: readonly Partial<Filters>[] = [
  {},
  { status: ['sealed'] },
  { status: ['queued', 'paused'] },
  { crawlId: other },
  { snapshotId: other },
  { outcomes: ['failed'] },
  { tags: ['few'] },
  { urlContains: 'page-12345' },
  { crawlId: other, status: ['failed'] },
  { host: 'site-1.example' },
  { host: 'site-1.example', outcomes: ['failed'] },
  { after: new Date(0), before: new Date() },
  { before: new Date(), status: ['sealed'] },
]

/** Pairs that many rows match, each of them, of the archive that is made here. */
async function eachOfPairs(): Promise<void> {
  const each = async <Row extends { readonly id: string }>(
    listing: Listing<Row>,
    pairs: readonly Partial<Filters>[],
  ) => {
    for (const filters of pairs) await eachListed(db, listing, { filters, limit: 20 }, () => true)
  }
  const [archived, html] = [{ outcomes: ['archived'] }, { plugins: ['html'] }] as const
  await each(CRAWLS, [{ status: ['sealed'], ...html }])
  await each(SNAPSHOTS, [
    { status: ['sealed'], ...archived },
    { status: ['sealed', 'queued'], ...archived, before: new Date() },
    { ...archived, ...html },
    { ...archived, urlContains: '.example/' },
    { urlContains: 'page-1234' },
  ])
  await each(RESULTS, [
    { status: ['succeeded'], ...html },
    { status: ['succeeded'], ...archived },
    { ...archived, ...html, before: new Date() },
    { ...archived, urlContains: '.example/' },
  ])
}

async function eachOf<Row extends { readonly id: string }>(listing: Listing<Row>): Promise<void> {
  const filters = [...FILTERS, { plugins: ['rare'] }, { plugins: ['rare'], crawlId: other }]
  for (const some of filters) await eachListed(db, listing, { filters: some, limit: 20 }, () => true)
  await listedByIds(db, listing, [other])
  const last = { id: other, snapshot_id: other }
  await eachListed(db, listing, { filters: { text: 'x' }, last, look: 10, limit: 20 }, () => true)
  await eachListed(db, listing, { filters: { made: ['rare'], outcomes: ['failed'] }, last, limit: 20 }, () => true)
  const range = { low: other, high: other }
  await idsInRanges(db, listing.table, [{ begins: range, ends: range }])
}

/** How each function is called that sends statements, by its file and name, in this order. */
const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
  'db/binaries.ts declareBinaries': () =>
    binaries.declareBinaries(db, home.machineId, [{ name: 'wget', binproviders: '*', minVersion: '' }]),
  'db/binaries.ts binariesOf': async () => {
    await binaries.binariesOf(db, home.machineId)
    await binaries.binariesOf(db, home.machineId, ['wget'])
  },
  'db/binaries.ts binariesToCheck': () => binaries.binariesToCheck(db, home.machineId, ['wget']),
  'machines/look-up-again.ts loseBinary': () => lookUpAgain.loseBinary(db, program),
  'machines/look-up-again.ts lookUpNow': () => lookUpAgain.lookUpNow(db, program),
  'machines/look-up-again.ts hintBinary': () => lookUpAgain.hintBinary(db, home.machineId, 'wget', '/x'),
  'db/lists/by-index.ts byIndex': () => byIndex(db, ping),
  'db/counts.ts rowCounts': async () => {
    for (const model of ['crawl', 'snapshot', 'archive_result'] as const) await rowCounts(db, model)
  },
  'db/counts.ts isCrawlFull': () => isCrawlFull(db, { id: crawl, max_size: 1 }),
  'db/crawl-sources.ts insertParts': () => insertParts(db, crawl, newCrawl('https://example.com/a').list),
  'db/crawl-sources.ts listOf': () => listOf(db, crawl),
  'db/crawl-sources.ts lockNextPart': () => inTransaction((tx) => lockNextPart(tx, { id: crawl, token })),
  'db/crawl-sources.ts passPart': () => passPart(db, crawl, 1),
  'db/crawls.ts insertCrawl': async () => {
    await crawls.insertCrawl(db, newCrawl())
    await crawls.insertCrawl(db, newCrawl('https://example.com/b'))
    const by = runningRow(home, { ...hook, id: uuidv7() }, { ...identity, pid: 1_003 })
    await crawls.insertCrawl(db, newCrawl('https://example.com/c'), uuidv7(), by)
  },
  'db/crawls.ts lockCrawl': () => crawls.lockCrawl(db, crawl),
  'db/crawls.ts placeOfCrawl': () => crawls.placeOfCrawl(db, crawl),
  'db/crawls.ts writeUnable': () => crawls.writeUnable(db, { id: crawl, token: worker }, new Map()),
  'db/crawls.ts crawlById': () => crawls.crawlById(db, crawl),
  'db/database.ts connectAhead': () => connectAhead(db),
  'db/database.ts ping': () => ping(db),
  'db/each-row.ts inBatches': () => Promise.resolve(),
  'db/each-row.ts eachRow': () => eachRow(db, sql`select 1 as one`, () => true),
  'db/lists/by-index.ts inOneMoment': () => inOneMoment(db, (tx) => sql`select 1 as one`.execute(tx)),
  'db/lists/by-index.ts once': () => Promise.resolve(), // Above.
  'db/lists/walks.ts idsInSteps': () => Promise.resolve(), // In the next.
  'db/lists/each-listed.ts eachListed': () => eachOf(CRAWLS),
  'db/lists/listings.ts listedByIds': () => eachOf(SNAPSHOTS),
  'db/lists/listings.ts idsInRanges': () => eachOf(RESULTS),
  'db/may-pause.ts mayPause': () => inTransaction((tx) => mayPause(tx)),
  'db/machines.ts machineRow': () => machineRow(db, { guid: other, hostname: 'here', platform: 'linux', arch: 'x64' }),
  'db/process-rows.ts stuckRows': () => rows.stuckRows(db, home.dataDirId),
  'db/process-rows.ts rowById': () => rows.rowById(home, worker),
  'db/process-rows.ts liveRowById': () => rows.liveRowById(home, worker),
  'db/process-rows.ts liveRowOf': () => rows.liveRowOf(home, identity),
  'db/process-rows.ts lastRowOfPid': () => rows.lastRowOfPid(home, 1),
  'db/process-rows.ts childRows': () => rows.childRows(home, [worker]),
  'db/process-rows.ts eachProcess': () => rows.eachProcess(home, { all: true }, () => true),
  'db/process-rows.ts listProcesses': async () => {
    for (const filters of [{}, { all: true }, { type: 'hook' }, { workerType: 'crawl' }, { status: 'lost' }])
      await rows.listProcesses(home, filters, 100)
  },
  'db/processes.ts insertStarting': () => processes.insertStarting(home, { ...hook, id: other }),
  'db/processes.ts insertRunning': () => processes.insertRunning(home, runningRow(home, hook, identity)),
  'db/processes.ts registerRunner': () =>
    processes.registerRunner(
      home,
      { ...hook, processType: 'orchestrator', workerType: 'runner_waiting', id: uuidv7(), standby: false },
      { ...identity, pid: 2 },
    ),
  'db/processes.ts markRunning': () => processes.markRunning(db, other, { ...identity, pid: 3 }),
  'db/processes.ts recordContainment': () => processes.recordContainment(db, other, { tier: 'basic' }),
  'db/processes.ts markDraining': () => processes.markDraining(db, other),
  'db/processes.ts markRan': () => processes.markRan(db, other, { ...identity, pid: 3 }, { code: 0, signal: null }, 1),
  'db/processes.ts markEnded': () => processes.markEnded(db, other, null),
  'db/processes.ts markResigned': () => processes.markResigned(db, other, 0),
  'db/processes.ts liveRows': () => processes.liveRows(home),
  'db/processes.ts noteHandover': () => processes.noteHandover(db, other, worker),
  'db/processes.ts noteStuck': () => processes.noteStuck(db, [other], 'it sleeps'),
  'db/heartbeats.ts heartbeat': () => heartbeat(home, other, identity, null),
  'db/process-rows.ts worksElsewhere': () => rows.worksElsewhere(home, other),
  'db/process-rows.ts supervisorsOfHooks': () => rows.supervisorsOfHooks(home, other),
  'db/crawl-hooks.ts crawlHooks': () => crawlHooks(home, other, other),
  'db/cancelled-pages.ts cancelledPages': () => cancelledPages(home, 500),
  'db/cancelled-pages.ts watchPages': () => watchPages(db, sql`select id from snapshot where id = ${other}`),
  'db/cancelled-pages.ts lookAgainLater': () => lookAgainLater(db, [other]),
  'db/heartbeats.ts sayThere': () => sayThere(db, other),
  'db/heartbeats.ts settleHeartbeats': () => settleHeartbeats(db),
  'db/results.ts countBelow': async () => {
    for (const noun of ['crawl', 'snapshot', 'result'] as const) await results.countBelow(db, noun, [other])
  },
  'db/nodes.ts askToDrain': () => nodes.askToDrain(db, other, 47),
  'db/nodes.ts isAskedToDrain': () => nodes.isAskedToDrain(home, 47),
  'db/nodes.ts reportNode': () =>
    nodes.reportNode(home, { hostname: 'here', version: '1', schema: 1, freeBytes: null }),
  'db/nodes.ts inheritNode': async () => {
    await nodes.reportNode(home, { hostname: 'here', version: '1', schema: 1, freeBytes: null })
    await nodes.inheritNode({ ...home, dataDirId: other })
  },
  'db/nodes.ts loseSilentNodes': () => nodes.loseSilentNodes(home, 60),
  'db/nodes.ts steerNode': () => nodes.steerNode(db, other, 'draining'),
  'db/nodes.ts forgottenAs': () => nodes.forgottenAs(home),
  'db/node-list.ts listNodes': async () => {
    for (const counts of ['all', 'lost'] as const) await nodeList.listNodes(db, counts)
  },
  'db/node-list.ts nodeNames': () => nodeList.nodeNames(db),
  'db/node-pages.ts leftOn': () => nodePages.leftOn(db, other),
  'db/node-pages.ts pagesOfNode': () => nodePages.pagesOfNode(db, other, other, 9),
  'db/node-pages.ts adoptPages': () => nodePages.adoptPages(home, other, [other]),
  'db/node-pages.ts forgetFiles': () => nodePages.forgetFiles(db, other, [other], 'gone'),
  'db/node-pages.ts adoptJobs': () => nodePages.adoptJobs(home, other),
  'db/node-pages.ts deleteNode': () => nodePages.deleteNode(db, other),
  'db/nodes.ts hasOtherNodes': () => nodes.hasOtherNodes(home),
  'db/nodes.ts isOfOthers': () => nodes.isOfOthers(home),
  'db/nodes.ts isAway': () => Promise.resolve(), // Sends none.
  'db/nodes.ts namedNodes': () => nodes.namedNodes(db, [other]),
  'db/nodes.ts otherNodes': () => nodes.otherNodes(home, [{ home_node: other }]),
  'db/nodes.ts pagesOn': () => nodes.pagesOn(db, new Map([[other, 1]])),
  'db/runners.ts requestHandoff': () => runners.requestHandoff(home, worker, [other], [], 1),
  'db/runners.ts seenLead': () => runners.seenLead(db, home.dataDirId, { guid: other, hostname: 'here' }),
  'db/runners.ts isHandoffRequested': () => runners.isHandoffRequested(home, other),
  'db/runners.ts withdrawHandoff': () => runners.withdrawHandoff(home, other, { askedBy: worker, isSignalled: true }),
  'db/runners.ts goToGate': async () => {
    await runners.goToGate(home, { id: other, seq: 1 }, false)
    await runners.goToGate(home, { id: other, seq: 1 }, true)
  },
  'db/runners.ts hasSuccessor': () => runners.hasSuccessor(home, other),
  'db/runners.ts demote': async () => {
    await runners.demote(home, other)
    await runners.demote(home, other, true)
  },
  'db/runners.ts supersededLately': () => runners.supersededLately(home, { minutes: 10, beforeSeconds: 1 }),
  'db/runners.ts closeAsLost': () => runners.closeAsLost(db, [other]),
  'db/runners.ts deadClaimants': () => runners.deadClaimants(home, [other]),
  'db/tags.ts listTags': async () => {
    await snapshots.tagSnapshots(db, [], ['a', 'b', 'c'])
    await tags.listTags(db)
  },
  'db/tags.ts changeTags': () => tags.changeTags(db, [other], { add: [], remove: ['news'] }),
  'db/tags.ts renameTag': async () => {
    const [tag] = await tags.listTags(db, ['a'])
    await tags.renameTag(db, tag!, 'other')
  },
  'db/tags.ts mergeTags': async () => {
    const [from, into] = await tags.listTags(db, ['b', 'c'])
    await tags.mergeTags(db, [from!], into!)
  },
  'db/tags.ts deleteTags': async () => tags.deleteTags(db, await tags.listTags(db, ['c'])),
  'db/terms.ts limitLockWaits': () => inTransaction((tx) => terms.limitLockWaits(tx)),
  'db/terms.ts raiseTerm': () =>
    inTransaction(async (tx) => {
      await terms.raiseTerm(tx, home.dataDirId, worker, 1)
      throw new Error('taken back')
    }).catch((error: Error) => expect(error.message).toBe('taken back')),
  'db/terms.ts termSince': () => terms.termSince(db, other, null),
  'db/terms.ts lostLeaderIn': () => terms.lostLeaderIn(home, identity),
  'db/runners.ts terminateBackendsOf': () => runners.terminateBackendsOf(home, [other]),
  'db/migration-plan.ts planMigration': () => planMigration(db, 1),
  'db/server-identity.ts serverIdentity': () => serverIdentity(db),
  'db/server-identity.ts serverSize': () => serverSize(db),
  'db/server-identity.ts serverClock': () => serverClock(db),
  'db/server-identity.ts replication': () => replication(db),
  'db/snapshots.ts insertSnapshots': () =>
    inTransaction(async (tx) => {
      const add = (depth: number, ...names: string[]) =>
        snapshots.insertSnapshots(tx, crawl, names.map(pageNamed), { depth, parentId: null })
      await add(0, 'a', 'b', 'c', 'd', 'e')
      await add(1, 'a', 'f')
    }),
  'db/snapshots.ts insertPages': () => Promise.resolve(), // In insertSnapshots and startAtOnce.
  'db/snapshots.ts tagSnapshots': () => snapshots.tagSnapshots(db, [], ['news']),
  'db/snapshots.ts snapshotById': () => snapshots.snapshotById(db, other),
  'db/snapshots.ts tagsOf': () => Promise.resolve(), // In the next.
  'db/snapshots.ts tagsOfPage': () => snapshots.tagsOfPage(db, other),
  'db/snapshots.ts snapshotsIn': async () => {
    await snapshots.snapshotsIn(db, crawl, 'sealed', { after: undefined, limit: 500 })
    await snapshots.snapshotsIn(db, crawl, 'sealed', { after: other, limit: 500, only: [other] })
  },
  'db/snapshots.ts crawlsOfSnapshots': () => snapshots.crawlsOfSnapshots(db, [other]),
  'db/open-snapshots.ts openSnapshots': () => openSnapshots({ db, dataDirId: other }, crawl),
  'db/unfinished.ts unfinished': () => unfinished(db),
  'db/unfinished.ts dueNow': () => dueNow(db),
  'machines/scope.ts isWithin': () =>
    isWithin({ db, dataDirId: other }, { snapshotIds: [other], exclude: ['snapshot'] }, crawl),
  'machines/scope.ts openCrawls': async () => {
    for (const scope of [{}, { crawlIds: [other] }, { exclude: ['snapshot'] }, { exclude: ['crawl'] }] as const)
      await openCrawls({ db, dataDirId: other }, scope, 1_000)
  },
  'machines/queues.ts crawlQueue': async () => {
    for (const scope of [{}, { crawlIds: [other] }, { snapshotIds: [other] }, { exclude: ['snapshot'] }] as const)
      await queues.crawlQueue(owner(), scope).next()
    const queue = queues.crawlQueue(owner(), {})
    const claim = { id: other, token: other, state: 'started' } as queues.CrawlClaim<'started'>
    await queue.hasMoved(claim, 'sealed')
    await queue.holders([worker], 15)
    await queue.renew([claim])
    await queue.release(claim)
    await expect(queue.update(claim, { message: 'why' })).rejects.toThrow()
    await expect(queue.move({ ...claim, state: 'queued' }, 'start', worker)).rejects.toThrow()
    await expect(queue.move(claim, 'seal', worker)).rejects.toThrow()
    await queues.crawlQueue(owner(brokenOnce()), {}).next()
  },
  'machines/start-crawl.ts startAtOnce': async () => {
    const queue = queues.crawlQueue(owner(), {})
    const list = new UrlList(1, { urls: 'https://example.com/d', details: '' }, [])
    const { id } = await crawls.insertCrawl(db, { ...newCrawl(), list, maxUrls: 0, tags: [] })
    const claim = (await queue.claimRow(id)) as queues.CrawlClaim<'queued'>
    const started = await startAtOnce(owner(), queue, claim, true)
    expect(await sealCrawl(owner(), queue, started!)).toBe(false)
  },
  'machines/queues.ts binaryQueue': async () => {
    const queue = queues.binaryQueue(owner())
    const claim = { id: other, token: other, state: 'queued' } as unknown as NonNullable<
      Awaited<ReturnType<typeof queue.next>>
    >
    await queue.next()
    await queue.hasMoved(claim, 'installed')
    await queue.holders([worker], 15)
    await queue.renew([claim])
    await queue.release(claim)
    await queue.forgetAttempts(claim)
    await expect(queue.move(claim, 'install', worker)).rejects.toThrow()
    await queues.binaryQueue(owner(brokenOnce())).next()
  },
  'machines/queues.ts snapshotQueue': async () => {
    await queues.snapshotQueue(owner(), worker, { snapshotIds: [other] }).next()
    const { queue, claim } = await startedPage()
    await queue.hasMoved(claim, 'started')
    await queue.holders([worker], 15)
    await queue.renew([claim])
    await queue.release(claim, 60_000)
    await queues.snapshotQueue(owner(brokenOnce()), worker, {}).next()
  },
  'db/web-sessions.ts webSessions': () => sessions.webSessions(db, home.dataDirId, 10),
  'db/web-sessions.ts webSessionOf': () => sessions.webSessionOf(db, home.dataDirId, hash),
  'db/web-sessions.ts webSessionSeen': () => sessions.webSessionSeen(db, hash, 60),
  'db/web-sessions.ts endWebSession': () => sessions.endWebSession(db, hash),
  'db/web-sessions.ts keepLoginCode': () => sessions.keepLoginCode(db, home.dataDirId, hash, 60),
  'db/web-sessions.ts beginWebSession': () =>
    sessions.beginWebSession(db, home.dataDirId, { code: hash, session: hash, seconds: 60 }),
  'db/processes.ts noteUrl': () => processes.noteUrl(db, worker, 'http://localhost'),
  'db/changes.ts momentOf': async () => {
    await changes.momentOf(db, home.dataDirId, '0', { pages: [other], crawls: [other] })
    await changes.momentOf(db, home.dataDirId, '0', { pages: [], crawls: [] })
  },
  'db/changes.ts databaseOid': () => changes.databaseOid(db),
  'db/leads.ts latestLeads': () => leads.latestLeads(home, 10),
  'db/leads.ts leading': () => leads.leading(home),
  'db/leads.ts deleteOldLeads': () => leads.deleteOldLeads(db, 30),
  'db/queue-history.ts noteQueue': () => queueHistory.noteQueue(db),
  'db/queue-history.ts queueHistory': () => queueHistory.queueHistory(db, 24, 48),
  'db/queue-history.ts deleteOldSamples': () => queueHistory.deleteOldSamples(db, 30),
  'db/meanings.ts meaningsIn': () => meanings.meaningsIn(db),
  'db/meanings.ts keepMeanings': () =>
    meanings.keepMeanings(
      db,
      new Map([
        ['x', {}],
        ['y', undefined],
      ]),
    ),
  'db/backups.ts beginBackup': () => backups.beginBackup(home, { id: worker, processId: worker, file: 'x' }),
  'db/backups.ts beginDueBackup': () =>
    backups.beginDueBackup(home, { id: uuidv7(), processId: worker, file: 'x' }, null),
  'db/backups.ts endBackup': () => backups.endBackup(db, { id: worker, size: 1, sha256: 'x', checked: 'read' }),
  'db/backups.ts failBackup': () => backups.failBackup(db, worker, 'x'),
  'db/backups.ts forgetBackups': () => backups.forgetBackups(db, [worker]),
  'db/backups.ts endedBackups': () => backups.endedBackups(home),
  'db/backups.ts failKilledBackups': () => backups.failKilledBackups(home, worker, 'x'),
  'db/backups.ts knownBackups': () => backups.knownBackups(db),
  'db/counts.ts endedTotals': () => endedTotals(db),
  'db/archived-pages.ts latestEnds': () => archived.latestEnds(db, 10),
  'db/archived-pages.ts copyNearest': () =>
    archived.copyNearest(db, hash.toString('hex'), { from: new Date(0), until: new Date() }),
  'db/archived-pages.ts picturesOf': () => archived.picturesOf(db, [other]),
  'db/recorded-files.ts filesOfPage': () => recorded.filesOfPage(db, other),
  'db/results.ts firstResultsOfPage': () => results.firstResultsOfPage(db, other, 10),
  'db/results.ts countResults': () => results.countResults(db, other, 10),
  'db/schedules.ts insertSchedule': async () => {
    const crawl = { maxDepth: 0, maxUrls: 0, maxSize: 0, tags: [], label: '', config: {} }
    const daily = { every: 'day', cron: '0 0 * * *', timezone: 'UTC', urls: ['https://example.com/'], crawl }
    await schedules.insertSchedule(db, { ...daily, nextAt: new Date(0) })
  },
  'db/schedules.ts msUntilDue': () => schedules.msUntilDue(db),
  'db/schedules.ts scheduleFacts': () => schedules.scheduleFacts(db),
  'machines/queues.ts scheduleQueue': async () => {
    const queue = queues.scheduleQueue(owner())
    const claim = (await queue.next()) as Parameters<typeof scheduled.handleMoment>[2]
    await queue.hasMoved(claim, 'active')
    await queue.holders([worker], 15)
    await queue.renew([claim])
    await scheduled.handleMoment(db, queue, claim)
    await queues.scheduleQueue(owner(brokenOnce())).next()
  },
  'machines/scheduled-crawls.ts handleMoment': () => Promise.resolve(), // Above.
  'machines/scheduled-crawls.ts runSchedules': () => scheduled.runSchedules(db, [other]),
  'machines/scheduled-crawls.ts pauseSchedules': () => scheduled.pauseSchedules(db, [other]),
  'machines/scheduled-crawls.ts resumeSchedules': async () => {
    const all = (await schedules.listSchedules(db)).map(({ id }) => id)
    await scheduled.pauseSchedules(db, all)
    await scheduled.resumeSchedules(db, all)
  },
  'db/schedules.ts listSchedules': () => schedules.listSchedules(db, [other]),
  'db/schedules.ts schedulesBelow': async () => {
    await schedules.schedulesBelow(db, { below: undefined, limit: 10 })
    await schedules.schedulesBelow(db, { below: other, limit: 10 })
  },
  'db/schedules.ts countSchedules': () => schedules.countSchedules(db),
  'db/schedules.ts lockSchedules': () => Promise.resolve(), // Above.
  'db/schedules.ts crawlsInTheWay': () => Promise.resolve(), // Above.
  'db/schedules.ts databaseNow': () => Promise.resolve(), // Above.
  'db/schedules.ts deleteSchedules': () => schedules.deleteSchedules(db, [other]),
  'machines/queues.ts forgetAttempts': async () => {
    await queues.forgetAttempts(db, { id: other, token })
    await queues.crawlQueue(owner(), {}).forgetAttempts({ id: other, token })
  },
  'machines/queues.ts confirmSnapshot': async () => {
    const { queue, claim } = await startedPage()
    await queues.confirmSnapshot(owner(), claim)
    await queue.move(claim, 'seal', worker, { outcome: 'archived', cause: null, http_status: 200 })
  },
  'machines/prepare-results.ts prepareResults': async () => {
    const { queue, claim } = await startedPage()
    const hooks = ['html', 'title'].map((plugin) => ({ plugin, name: `on_Snapshot__20_${plugin}` }))
    const [result, next] = await prepareResults(owner(), claim, hooks, [], worker)
    await hookResults.writeResults(owner(), claim, [{ result: result!, event: 'interrupt' }])
    const published = { written: { 'a.html': { size: 1, mimetype: 'text/html' } }, standing: {} }
    await hookResults.writeResults(owner(), claim, [
      { result: result!, event: 'succeed', processId: worker, published },
      { result: next!, event: 'start', processId: worker },
    ])
    await hookResults.repeatResults(owner(), claim, [result!])
    await addResults(owner(), claim, [{ plugin: 'exif', name: 'on_Snapshot__62_exif' }])
    await finishPage(db, owner(), claim, [])
    const sealed = { outcome: 'archived', cause: null, http_status: 200, title: 'A title', output_size: 1 } as const
    await expect(queue.move(claim, 'seal', worker, sealed, ALL_ENDED)).rejects.toThrow()
    await expect(queue.moveAndClaim(claim, 'seal', {}, worker, sealed, ALL_ENDED)).rejects.toThrow()
  },
  'machines/results.ts writeResults': () => Promise.resolve(), // Above.
  'machines/take-home.ts takePageHome': async () => {
    const { claim } = await startedPage()
    const elsewhere = await takePageHome(owner(), { ...claim, row: { ...claim.row, home_node: other } })
    expect(elsewhere.row.home_node).toBeNull()
  },
  'machines/prepare-results.ts addResults': () => Promise.resolve(), // Above.
  'machines/results.ts repeatResults': () => Promise.resolve(), // Above.
  'machines/finish-page.ts finishPage': async () => {
    const queue = queues.snapshotQueue(owner(), worker, {})
    const claim = (await queue.next())!
    const result = { id: uuidv7(), plugin: 'html', hook_name: 'on_Snapshot__20_html' }
    const published = { written: { 'a.html': { size: 1, mimetype: 'text/html' } }, standing: {} }
    await finishPage(db, owner(), claim, [{ result, event: 'succeed', processId: worker, published }], 0)
    const started = { ...claim, state: 'started' } as typeof claim & { readonly state: 'started' }
    await queue.move(started, 'seal', worker, { outcome: 'archived', cause: null, http_status: 200 })
  },
  'machines/finish-page.ts skipOpenResults': () => skipOpenResults(db, other, 'why'),
  'machines/results.ts forgetStarted': () => hookResults.forgetStarted(owner(), other),
  'machines/commands.ts lockCrawls': () => commands.lockCrawls(db, sql`id = ${other}`),
  'machines/commands.ts wakeCrawls': () => commands.wakeCrawls(db, [other]),
  'machines/commands.ts pauseSnapshots': () => commands.pauseSnapshots(db, [other]),
  'machines/commands.ts resumeSnapshots': () => commands.resumeSnapshots(db, [other]),
  'machines/commands.ts cancelSnapshots': () => commands.cancelSnapshots(home, [other]),
  'machines/commands.ts pauseCrawls': () => commands.pauseCrawls(db, [crawl]),
  'machines/commands.ts resumeCrawls': () => commands.resumeCrawls(db, [crawl]),
  'machines/commands.ts cancelCrawls': () => commands.cancelCrawls(home, [crawl]),
  'machines/queues.ts requeueClaimsOf': () => queues.requeueClaimsOf(db, [other]),
  'machines/reconcile-schedules.ts reconcileSchedules': () => reconcileSchedules(db),
  'machines/handled.ts handledWithin': () => handledWithin(db, 60),
  'workers/supervise/reap.ts endFormerWorkers': () => endFormerWorkers(owner(), other),
  'db/counts.ts addUpCounts': async () => {
    const [page] = await addCrawlWithPages(db, newCrawl())
    await tags.changeTags(db, [page!], { add: ['brief'], remove: [] })
    await tags.changeTags(db, [page!], { add: [], remove: ['brief'] })
    await addUpCounts(db)
  },
  'db/counts.ts pageCount': () => pageCount(db, crawl),
  'db/counts.ts sealedPageCount': () => sealedPageCount(db, crawl),
  'db/machines.ts machineById': () => machineById(db, home.machineId),
  'db/machines.ts machines': () => machines(db),
  // Its statements are sent over a connection of its own, by the program that completes words.
  'db/latest-rows.ts latestRows': async () => {
    for (const kind of ['crawl', 'snapshot', 'result', 'process', 'machine', 'tag'])
      await latestRows(home.databaseUrl, home.dataDir, kind, '')
  },
  'db/binaries.ts binaryCounts': () => binaries.binaryCounts(db),
  'db/counts.ts allPages': () => allPages(db),
  'db/crawl-progress.ts crawlProgress': async () => {
    await crawlProgress(db, { crawlId: other })
    await crawlProgress(db, { most: 3 })
  },
  'db/crawl-progress.ts onlyPageOf': () => onlyPageOf(db, other),
  'db/crawl-progress.ts madeBy': () => madeBy(db, other),
  'db/crawl-progress.ts skippedFor': () => skippedFor(db, other),
  'db/pages-in-work.ts pagesInWork': async () => {
    await pagesInWork(db)
    await pagesInWork(db, other)
  },
  'db/pages-in-work.ts claimedCrawls': () => claimedCrawls(db),
  'db/sealed-pages.ts look': () => new SealedPages(other).look(db),
  'db/archived-pages.ts pageChanges': () => archived.pageChanges(db, { changed: '1', number: 1 }, 100),
  'db/archived-pages.ts lockIndex': () => inTransaction((tx) => archived.lockIndex(tx, home.dataDirId)),
  'db/archived-pages.ts copiesOfUrl': () => archived.copiesOfUrl(db, 'ab', 100),
  'db/archived-pages.ts copiedUrls': () => archived.copiedUrls(db, ['ab']),
  'db/archived-pages.ts archivedAmong': () => archived.archivedAmong(db, ['https://example.com/']),
  'db/archived-pages.ts hasCopies': () => archived.hasCopies(db, { id: other, url_hash: Buffer.from('a') }),
  'db/crawl-summaries.ts crawlFacts': () => summaries.crawlFacts(db, other),
  'db/crawl-summaries.ts latestCrawls': () => summaries.latestCrawls(db),
  'db/host-turns.ts takeTurn': async () => {
    const page = { host: 'example.com', snapshotId: other, token }
    const [snapshotId] = await addCrawlWithPages(db, newCrawl('https://example.com/turn'))
    await turns.takeTurn(db, { ...page, snapshotId: snapshotId! }, { atOnce: 1, delayMs: 70_000 })
    await turns.takeTurn(db, { ...page, snapshotId: snapshotId! }, { atOnce: 1, delayMs: 70_000 })
  },
  'db/host-turns.ts blockHost': () => turns.blockHost(db, 'example.com', 1_000),
  'db/host-use.ts pagesBefore': () =>
    uses.pagesBefore(db, { id: other, crawlId: crawl, url: 'https://example.com/' }, 10),
  'db/host-use.ts bytesOfHost': () => uses.bytesOfHost(db, { id: other, crawlId: crawl, url: 'https://example.com/' }),
  'db/is-there.ts isThere': async () => {
    for (const table of ['crawl', 'snapshot', 'archive_result'] as const) await isThere(db, table, other)
  },
  'db/results.ts resultsOfPage': () => results.resultsOfPage(db, other),
  'db/results.ts latestResults': () => results.latestResults(db, [other]),
  'db/snapshots.ts lockUnjudged': () =>
    inTransaction((tx) => snapshots.lockUnjudged({ db: tx, dataDirId: other }, 100)),
  'machines/adopt.ts adoptCrawl': () =>
    adopt.adoptCrawl(home, { key: 'a', at: new Date(), label: '', list: newCrawl().list }),
  'machines/adopt.ts adoptedAmong': () => adopt.adoptedAmong(db, [other]),
  'machines/adopt.ts adoptPage': async () => {
    const [at, list] = [new Date(), newCrawl().list]
    const crawlId = await adopt.adoptCrawl(home, { key: 'b', at, label: '', list })
    const result = {
      plugin: 'dom',
      hook_name: 'dom',
      attempt: 1,
      status: 'succeeded',
      output_str: '',
      files: {},
    } as const
    await adopt.adoptPage(home, {
      ...{ id: uuidv7(), crawlId, url: 'https://example.com/', title: null, depth: 0, tags: ['a'], notes: null },
      ...{
        bookmarkedAt: at,
        sealedAt: at,
        outputDir: 'archive/x',
        outcome: 'archived',
        cause: null,
        http_status: null,
      },
      results: [{ ...result, start: at, end: at }],
    })
  },
  'machines/add-pages.ts addPages': () => addPages(db, other, newCrawl().list, ['news']),
  'machines/add-pages.ts addPausedPages': () => addPausedPages(db, newCrawl('https://example.com/d')),
  'machines/add-pages.ts addCrawlWithPages': () => addCrawlWithPages(db, newCrawl('https://example.com/c')),
  'machines/retry.ts onLostNodes': () => onLostNodes(db, new Map([[other, other]])),
  'machines/retry.ts retry': async () => {
    await retry(home, { crawls: [other], snapshots: [other], results: [other] })
    await retry(home, { crawls: [other], failed: true })
  },
  'machines/retry.ts lockCrawlsAbove': () => Promise.resolve(), // Above.
  'machines/requeue.ts requeue': () => requeue(home, { crawls: [other], snapshots: [other], results: [other] }),
  'machines/deletion.ts deleteResult': async () => {
    const [page] = await addCrawlWithPages(db, newCrawl())
    const results = ['a', 'b'].map((name) => ({ id: uuidv7(), name }))
    for (const { id, name } of results)
      await test.query(
        `insert into archive_result (id, snapshot_id, plugin, hook_name, output_files) values ($1, $2, 'html', $3, $4)`,
        [id, page, name, { 'broken.html': { size: 0, link: 'nowhere.html' } }],
      )
    await deletion.deleteResult(home, results[0]!.id)
    await deletion.deleteSnapshot(home, page!)
  },
  'db/file-jobs.ts askNodes': () =>
    inTransaction((tx) => fileJobs.askNodes(tx, home, [other], { what: 'crawl', ids: [other] })),
  'db/file-jobs.ts nextFileJobs': () => fileJobs.nextFileJobs(home, 100),
  'db/file-jobs.ts noteFileJobs': () => fileJobs.noteFileJobs(db, [1], new Map([[2, 'why']])),
  'db/file-jobs.ts filesToRemove': () => fileJobs.filesToRemove(db),
  'db/file-jobs.ts lockMoved': () => inTransaction((tx) => fileJobs.lockMoved(tx, home, [other])),
  'db/file-jobs.ts lockPlugin': () => inTransaction((tx) => fileJobs.lockPlugin(tx, home, other, 'html')),
  'machines/deletion.ts deleteSnapshot': () => Promise.resolve(), // Above.
  'machines/deletion.ts deleteCrawl': async () => {
    const [page] = await addCrawlWithPages(db, newCrawl())
    await deletion.deleteCrawl(home, (await snapshots.snapshotById(db, page!))!.crawl_id)
  },
  'machines/deletion.ts reconcileDeletions': async () => {
    mkdirSync(join(home.dataDir, 'archive/.deleted', `crawl.${other}`), { recursive: true })
    await deletion.reconcileDeletions(home)
  },
  'machines/wait-for-release.ts waitForRelease': () => Promise.resolve(), // With the deletions.
  'db/pages-in-work.ts heldPages': () => Promise.resolve(), // With the deletions.
  'machines/commands.ts lockCrawlsOf': () => commands.lockCrawlsOf(db, [other]),
  'db/failures.ts latestFailures': async () => {
    await latestFailures(db, { limit: 10 })
    await latestFailures(db, { crawlId: other, limit: 10 })
  },
  'db/failures.ts failureGroups': () => failureGroups(db),
  'machines/judge.ts judge': () => judge(db, home.dataDir, [{ id: other, output_dir: 'x' }]),
  'machines/judge.ts judgeResults': () => Promise.resolve(), // Sends none.
  'machines/judge.ts recordVerdicts': () =>
    recordVerdicts(db, new Map([[other, { outcome: 'failed', cause: 'none', http_status: null }]])),
  'db/recorded-files.ts recordedPages': () => recorded.recordedPages(home, new Meanings([]), other, 10),
  'db/recorded-files.ts recordedPage': () => recorded.recordedPage(home, new Meanings([]), other),
  'db/recorded-files.ts writtenSince': () => recorded.writtenSince(db, other, 'hashes'),
  'db/recorded-files.ts withoutRow': () => recorded.withoutRow(db, 'snapshot', [other]),
  'db/recorded-files.ts pagesAway': async () => {
    await recorded.pagesAway(home, [other])
    await recorded.pagesAway(home, [other], 'locked')
  },
  'db/process-rows.ts endedAmong': () => rows.endedAmong(home, [other]),
  'db/history.ts deleteEndedProcesses': () => deleteEndedProcesses(db, 30, 10),
  'db/history.ts deleteOldTransitions': () => deleteOldTransitions(db, 30, 10),
  'machines/queues.ts settleRestored': () => queues.settleRestored(db),
}

/** Sends every statement, on an archive with one crawl. */
async function record(recorder: Recorder): Promise<Sent[]> {
  for (const [name, call] of Object.entries(CALLS)) {
    recorder.by = name
    await call()
  }
  return recorder.statements
}

async function grow(): Promise<void> {
  await makeLargeArchive(db, PAGES)
  await test.query(
    `insert into crawl (id, urls, output_dir, status, retry_at)
     select gen_random_uuid(), 'u', 'archive/x', 'sealed', null from generate_series(1, $1::int)`,
    [MANY],
  )
  await test.query(`insert into crawl_total select id, 'sealed', 1 from crawl`)
  await test.query(
    `insert into crawl_source select (select min(id::text)::uuid from crawl), n, 'u'
      from generate_series(1, $1::int) n`,
    [MANY],
  )
  await test.query(
    `insert into process (id, machine_id, data_dir, data_dir_id, process_type, worker_type, status, boot_id,
      pid_namespace,
       pid, start_ticks, started_at, heartbeat_at, created_at, ended_at, exit_code)
     select gen_random_uuid(), $1, $2, $3, 'hook', '', 'exited', 'boot', 'pid:[1]', 1000 + n, n, at, at, at, at, 0
     from (select n, now() - interval '1 hour' - n * interval '25 s' as at from generate_series(1, $4::int) n) as old`,
    [home.machineId, home.dataDir, home.dataDirId, MANY],
  )
  await test.query(
    `insert into transition (model, row_id, from_status, to_status, event, at)
     select 'snapshot', id, 'started', 'sealed', 'seal', now() - interval '1 hour' from snapshot`,
  )
  await test.query(`insert into cancelled_page (snapshot_id, look_at) select id, now() + interval '1 h' from snapshot`)
  await test.query(`insert into crawl_by_host select min(id::text)::uuid from crawl`)
  await test.query(`insert into host_total select crawl_id, n, 1 from crawl_by_host, generate_series(1, ${MANY}) n`)
  await test.query(`insert into host (host) values ('a.example'), ('b.example')`)
  await test.query(`insert into host_turn (snapshot_id, host, starts_at) select id, 'a.example', now() from snapshot`)
  await addUpCounts(db)
}

/** Hides what ANALYZE found, or shows it again: the planner looks only for statistics of tables without their heirs. */
const haveStatistics = (has: boolean) =>
  test.query('update pg_statistic set stainherit = not $1 where starelid >= 16384', [has]) // Not of system tables.

let sent: readonly Sent[]
let generic: PreparedStatements
let custom: PreparedStatements
/** The plans that were made while the tables were empty. */
const early = new Map<Sent, Plan>()
let partial: ReadonlySet<string>

beforeAll(async () => {
  test = await homes.original()
  const recorder = new Recorder(NAME)
  db = openDatabase(test.databaseUrl, { name: NAME, connections: 1 })
  const dataDirId = uuidv7()
  const machine = { guid: 'this', hostname: 'here', platform: 'linux', arch: 'x64' }
  const machineId = (await machineRow(db, machine)).id
  home = { db, databaseUrl: test.databaseUrl, embedded: true, machineId, dataDir: test.dataDir, dataDirId }
  // Statistics of any table would have plans made anew that were made while it was empty.
  for (const { name } of await test.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = current_schema()`,
  ))
    await test.query(`alter table ${name} set (autovacuum_enabled = false)`)
  await processes.insertStarting(home, { ...hook, id: worker })
  await test.query('insert into runner_term values ($1, 1, $2)', [dataDirId, worker])
  await test.query(
    `insert into crawl (id, urls, output_dir, status, tags, next_part, retry_at, claim_token, claimed_by)
     values ($1, 'https://example.com/', 'archive/x', 'started', '{news}', 1, now() + interval '1 min', $2, $3)`,
    [crawl, token, worker],
  )
  sent = await record(recorder)
  await test.query('analyze')
  await haveStatistics(false)
  await test.query(`truncate runner_term, row_change, row_total, ${LARGE.join(', ')} cascade`)
  generic = await PreparedStatements.open(test.databaseUrl, 'force_generic_plan')
  custom = await PreparedStatements.open(test.databaseUrl, 'force_custom_plan')
  for (const each of sent) early.set(each, await generic.plan(each))
  partial = new Set(
    (
      await test.query<{ name: string }>(
        'select indexrelid::regclass::text as name from pg_index where indpred is not null',
      )
    ).map(({ name }) => name),
  )
  recorder.by = 'nobody'
  await grow()
  recorder.by = 'db/lists/each-listed.ts pairs of filters'
  await eachOfPairs()
  sent = [...sent, ...recorder.statements.filter(({ by }) => by === recorder.by)]
  recorder.stop()
})
afterAll(async () => {
  await generic?.close()
  await custom?.close()
  await db.destroy()
})

const inOneLine = (text: string) => text.replace(/\s+/g, ' ').trim()

/** What a process sends once, or a person's command: nobody keeps its plan. */
const SENT_ONCE = [/retry\.ts|(rename|merge|delete)Tags?|each-listed|listedByIds|idsInRanges|countBelow|handledWithin/]
/**
 * What walks from the newest row on until it has enough: crawls by a tag, a part of their list or an outcome, since
 * they are few beside their pages; and processes, most of which are of the data dir that is asked for. And a restore,
 * once, which has just written every row; and a copied data dir, once.
 */
const WALKS = [
  /: select it\.\*, count\..*(= any\("w0"\."tags"\)|lower\("w0"\."urls"\)|p\.outcome = \$)/,
  /: select \* from "process" where .* limit/,
  /settleRestored: select claimed_by/,
  /inheritNode: update/,
]

/** What reads a whole table, and how. */
async function dear(
  planOf: (each: Sent) => Promise<Plan>,
  except: readonly RegExp[] = [],
): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {}
  for (const each of sent) {
    const name = `${each.by}: ${inOneLine(each.text)}`
    if ([...except, ...WALKS].some((pattern) => pattern.test(name))) continue
    const reads = wholeReads(await planOf(each), new Set(LARGE), partial)
    if (reads.length > 0) found[name] = reads
  }
  return found
}

describe('the statements', () => {
  it('are those of every function that sends any', () => {
    const exported = COVERED.flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^export async function (\w+)/gm)].map(
        ([, name]) => `${file.slice('src/'.length)} ${name}`,
      ),
    )
    expect(exported.length).toBeGreaterThan(60)
    expect(exported.filter((name) => CALLS[name] === undefined)).toEqual([])
  })

  it('are all that are written there, but for locks, ways of transactions, and cursors', () => {
    const texts = sent.map(({ text }) => inOneLine(text)).join('\n')
    const written = COVERED.flatMap((file) =>
      templatesIn(readFileSync(join(ROOT, file), 'utf8')).map((template) => [file, inOneLine(template)] as const),
    )
    expect(written.length).toBeGreaterThan(80)
    const planned = written.filter(
      ([file, text]) => !/db.each-row\.ts$/.test(file) && !/^(lock table|set transaction)/.test(text),
    )
    expect(planned.filter(([, template]) => !texts.includes(template))).toEqual([])
  })
})

describe('the statements of the queues', () => {
  it('are those that are written out, but for steps from outside that nobody takes', async () => {
    const bare = (text: string) => text.replace(/\s+|--.*/g, '')
    const texts = new Set(sent.map(({ text }) => bare(text)))
    const written = Object.values(await queueStatements())
      .flat()
      .join('\n')
    const prepared = [...written.matchAll(/^prepare "(.*)" as\n([^;]*);/gm)]
    expect(prepared.length).toBeGreaterThan(30)
    const missing = prepared.filter(([, , text]) => !texts.has(bare(text!))).map(([, name]) => name)
    expect(missing).toEqual(['crawl: start', 'snapshot: start', 'binary: keep', 'binary: install'])
  })
})

describe('no statement reads a whole large table', () => {
  it('by a plan that was made while the tables were empty', async ({ skip }) => {
    // A connection keeps them, unless a busy server tells it to forget what it knew of the tables.
    const isEmbedded = await test.value<boolean>("select current_setting('cluster_name') = 'archivebox'")
    skip(!isEmbedded, "on a server of one's own nothing is kept prepared")
    expect(await dear((each) => generic.plan(each), SENT_ONCE)).toEqual({})
  })

  it('by a new plan, before there are statistics', async () => {
    await generic.forget()
    expect(await dear((each) => generic.plan(each), SENT_ONCE)).toEqual({})
  })

  it('by a plan for these values, before there are statistics', async () => {
    expect(await dear((each) => custom.plan(each))).toEqual({})
  })

  it('with statistics from when the tables were small, by a plan for any values', async () => {
    await haveStatistics(true)
    await generic.forget()
    expect(await dear((each) => generic.plan(each), SENT_ONCE)).toEqual({})
  })

  it('with statistics, by a plan for any values', async () => {
    await test.query('analyze')
    expect(await dear((each) => generic.plan(each), SENT_ONCE)).toEqual({})
  })

  it('with statistics, by a plan for these values', async () => {
    expect(await dear((each) => custom.plan(each))).toEqual({})
  })
})
