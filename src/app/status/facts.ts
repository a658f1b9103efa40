import { statfsSync } from 'node:fs'
import type { Settings } from '../../base/config.ts'
import { VERSION } from '../../base/version.ts'
import { binariesOf, binaryCounts } from '../../db/binaries.ts'
import { allPages, rowCounts } from '../../db/counts.ts'
import { FAILURES_LOOKED_AT, failureGroups, latestFailures } from '../../db/failures.ts'
import { filesToRemove } from '../../db/file-jobs.ts'
import type { Home } from '../../db/home.ts'
import { byIndex } from '../../db/lists/by-index.ts'
import { machineById } from '../../db/machines.ts'
import { listNodes } from '../../db/node-list.ts'
import { type ClaimedCrawl, claimedCrawls, type PageInWork } from '../../db/pages-in-work.ts'
import type { LiveRow } from '../../db/processes.ts'
import { nodeRecord } from '../../db/records.ts'
import { scheduleFacts } from '../../db/schedules.ts'
import { serverSize } from '../../db/server-identity.ts'
import { maskPassword } from '../../db/trouble.ts'
import { dueNow } from '../../db/unfinished.ts'
import type { Machine } from '../../engine/machine.ts'
import { crawlSettings } from '../../hooks/crawl-settings.ts'
import { archiveResultMachine } from '../../machines/archive-result.ts'
import { binaryMachine } from '../../machines/binary.ts'
import { crawlMachine } from '../../machines/crawl.ts'
import { handledWithin } from '../../machines/handled.ts'
import { snapshotMachine } from '../../machines/snapshot.ts'
import { presentRows } from '../../processes/presence.ts'
import { readProc } from '../../processes/proc.ts'
import type { Archive } from '../archive.ts'
import { sparedPrograms } from '../browser-here.ts'
import { backupFacts } from './backups.ts'
import { blockedReason } from './reasons.ts'
import { workOf } from './work.ts'

/** The window for what was handled: an hour. */
const HANDLED_SECONDS = 3_600
/** How many crawls are shown. */
const CRAWLS = 5
/** How many failures, and kinds of failures, are shown. */
const FAILURES = 5

/** What a person sees at a glance. */
export type Facts = Awaited<ReturnType<typeof gather>>

/** All facts, for programs: includes what was handled in the last hour, which counts many rows in a busy archive. */
export async function status(archive: Of) {
  const handled = { seconds: HANDLED_SECONDS, models: await handledWithin(archive.home.db, HANDLED_SECONDS) }
  return { ...(await gather(archive)), handled }
}

type Of = Pick<Archive, 'home' | 'kind' | 'settings'>

/** The facts for `status`, read in one transaction. @param crawls how many are shown, at most */
export async function gather({ home, kind, settings }: Of, crawls = CRAWLS) {
  const alive = await presentRows(home)
  const { plugins, texts } = crawlSettings(home.dataDir, settings)
  const spared = sparedPrograms(plugins, texts)
  return await byIndex(home.db, (db) => read({ ...home, db }, kind, alive, spared, crawls, settings))
}

async function read(
  home: Home,
  kind: Archive['kind'],
  alive: readonly LiveRow[],
  spared: ReadonlySet<string>,
  crawls: number,
  settings: Settings,
) {
  const leader = alive.find((row) => row.worker_type === 'worker_runner')
  const snapshots = await rowCounts(home.db, 'snapshot')
  const due = await dueNow(home.db)
  const server = await serverSize(home.db)
  const disk = statfsSync(home.dataDir)
  const work = await workOf(home, undefined, crawls)
  const { counts, sealed } = await allPages(home.db)
  const working = work.pages.filter(({ worker_id }) => alive.some(({ id }) => id === worker_id))
  const nodes = await listNodes(home.db, 'lost')
  const others = nodes.filter(({ id, leads }) => leads && id !== home.dataDirId)
  const inWork = others.reduce((sum, node) => sum + node.pages_in_work, working.length)
  const unwritten = working.filter(({ status }) => status === 'queued').length
  const groups = await failureGroups(home.db, { limit: FAILURES_LOOKED_AT })
  return {
    data_dir: home.dataDir,
    version: VERSION,
    machine: await machineById(home.db, home.machineId),
    database: {
      kind,
      url: maskPassword(home.databaseUrl),
      running: true,
      server_version: server.version,
      size_bytes: server.size,
    },
    runner: {
      state: leader ? (leader.status === 'draining' ? 'draining' : 'running') : 'none',
      process_id: leader?.id ?? null,
      pid: leader?.pid ?? null,
      term: leader?.term ?? null,
      started_at: leader?.started_at ?? null,
      heartbeat_age_s: leader?.heartbeat_age_s ?? null,
      containment: leader?.containment ?? null,
    },
    standbys: alive
      .filter((row) => row.worker_type === 'runner_waiting')
      .map((row) => ({ process_id: row.id, pid: row.pid, started_at: row.started_at, waits_for: row.blocked_reason })),
    servers: alive
      .filter((row) => row.process_type === 'server')
      .map(({ id, pid, url, started_at }) => ({ process_id: id, pid, url, started_at })),
    // Its reason tells since when, why, and what to do. That of a runner is why nothing moves.
    stuck: alive
      .filter((row) => row.process_type !== 'orchestrator' && row.blocked_reason !== null)
      .map(({ id, process_type, pid, blocked_reason }) => ({ process_id: id, process_type, pid, why: blocked_reason })),
    queue: {
      crawl: statesOf(crawlMachine, await rowCounts(home.db, 'crawl')),
      snapshot: statesOf(snapshotMachine, snapshots),
      archive_result: statesOf(archiveResultMachine, await rowCounts(home.db, 'archive_result')),
      binary: statesOf(binaryMachine, await binaryCounts(home.db)),
    },
    pages: {
      ...counts,
      sealed,
      working: inWork,
      waiting: due.waiting,
      // Begun, but nobody's: work of a runner that is gone.
      interrupted: Math.max(0, counts.started - (inWork - unwritten) - due.waitingBegun),
    },
    // Without a runner nothing goes on at its recent pace.
    crawls: leader
      ? work.crawls
      : work.crawls.map((crawl) => ({ ...crawl, pages_per_second: null, seconds_left: null })),
    other_crawls: work.otherCrawls,
    in_work: working,
    due: { crawl: due.crawls, snapshot: due.pages },
    oldest_due_age_s: due.oldestSeconds,
    oldest_due_crawl_age_s: due.oldestCrawlSeconds,
    binaries: (await binariesOf(home.db, home.machineId)).map(({ name, status, abspath, version, message }) => ({
      name,
      status,
      abspath,
      version,
      message,
      missed: status === 'queued' && !spared.has(name),
    })),
    workers: workersOf(alive, working, await claimedCrawls(home.db)),
    recent_failures: await latestFailures(home.db, { limit: FAILURES }),
    failures: groups.slice(0, FAILURES),
    failures_looked_at: groups.reduce((sum, { pages }) => sum + pages, 0),
    schedules: await scheduleFacts(home.db),
    backup: await backupFacts(home.db, settings),
    // One that works alone is told of by everything else.
    ...(nodes.length > 1 && { nodes: nodes.map((node) => nodeRecord(node, home)) }),
    files_to_remove: await filesToRemove(home.db),
    disk: { free_bytes: disk.bavail * disk.bsize, archive_bytes: bytesOf(snapshots) },
    blocked_reason: await blockedReason(home, alive, {
      here: working.length > 0,
      elsewhere: others.some((node) => node.pages_in_work + node.crawls > 0),
    }),
  }
}

type Counts = Awaited<ReturnType<typeof rowCounts>>

/** Every state of a machine, with the number of its rows. */
function statesOf({ states }: Machine, counts: ReadonlyMap<string, { readonly rows: number }>): Record<string, number> {
  return Object.fromEntries(Object.keys(states).map((state) => [state, counts.get(state)?.rows ?? 0]))
}

function bytesOf(counts: Counts): number {
  return [...counts.values()].reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Who works on what, and for how long: a hook's time is that on this page. One entry for each page. */
function workersOf(alive: readonly LiveRow[], pages: readonly PageInWork[], crawls: readonly ClaimedCrawl[]) {
  const below = alive.filter((row) => row.process_type === 'worker' || row.process_type === 'hook')
  return below.flatMap((row) => {
    const isOf = ({ worker_id, hooks }: PageInWork) =>
      worker_id === row.id || hooks.some((hook) => hook.process_id === row.id)
    const ofRow: (PageInWork | undefined)[] = pages.filter(isOf)
    if (ofRow.length === 0) ofRow.push(undefined)
    const crawl = crawls.find(({ claimed_by }) => claimed_by === row.id)
    return ofRow.map((page) => {
      const hook = page?.hooks.find(({ process_id }) => page.worker_id === row.id || process_id === row.id)
      return {
        process_id: row.id,
        pid: row.pid,
        process_type: row.process_type,
        worker_type: row.worker_type,
        crawl_id: page?.crawl_id ?? crawl?.id ?? row.crawl_id,
        snapshot_id: page?.snapshot_id ?? row.snapshot_id,
        url: page?.url ?? row.url,
        hook: hook?.hook_name ?? null,
        elapsed_s:
          hook?.seconds ?? page?.seconds ?? (row.started_at ? (Date.now() - row.started_at.getTime()) / 1000 : null),
        rss_bytes: row.pid === null ? null : (readProc(row.pid)?.rssBytes ?? null),
      }
    })
  })
}
