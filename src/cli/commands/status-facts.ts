import { statfsSync } from 'node:fs'
import { sql } from 'kysely'
import { VERSION } from '../../base/version.ts'
import { binariesOf } from '../../db/binaries.ts'
import { rowCounts } from '../../db/counts.ts'
import type { Home } from '../../db/home.ts'
import type { LiveRow } from '../../db/processes.ts'
import { maskPassword } from '../../db/trouble.ts'
import { dueNow } from '../../db/unfinished.ts'
import type { Machine } from '../../engine/machine.ts'
import { archiveResultMachine } from '../../machines/archive-result.ts'
import { binaryMachine } from '../../machines/binary.ts'
import { crawlMachine } from '../../machines/crawl.ts'
import { handledWithin } from '../../machines/handled.ts'
import { snapshotMachine } from '../../machines/snapshot.ts'
import { presentRows } from '../../processes/presence.ts'
import { readProc } from '../../processes/proc.ts'
import type { OpenHome } from '../home.ts'
import { describe } from './process.ts'
import { blockedReason } from './status-reasons.ts'

/** The window of what was handled: an hour. */
const HANDLED_SECONDS = 3_600

/** What `status --json` prints. */
export type Facts = Awaited<ReturnType<typeof gather>>

/** Everything that `status` knows, read once. */
export async function gather({ home, kind }: OpenHome) {
  const alive = await presentRows(home)
  const leader = alive.find((row) => row.worker_type === 'worker_runner')
  const pages = await rowCounts(home.db, 'snapshot')
  const queue = {
    crawl: statesOf(crawlMachine, await rowCounts(home.db, 'crawl')),
    snapshot: statesOf(snapshotMachine, pages),
    archive_result: statesOf(archiveResultMachine, await rowCounts(home.db, 'archive_result')),
    binary: await binaryCounts(home),
  }
  const due = await dueNow(home.db)
  const [about] = (
    await sql<{ server_version: string; size_bytes: number }>`
    select current_setting('server_version') as server_version, pg_database_size(current_database()) as size_bytes`.execute(
      home.db,
    )
  ).rows
  const disk = statfsSync(home.dataDir)
  return {
    data_dir: home.dataDir,
    version: VERSION,
    machine: await home.db
      .selectFrom('machine')
      .select(['id', 'hostname'])
      .where('id', '=', home.machineId)
      .executeTakeFirstOrThrow(),
    database: {
      kind,
      url: maskPassword(home.databaseUrl),
      running: true,
      server_version: about!.server_version,
      size_bytes: about!.size_bytes,
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
    queue,
    due: { crawl: due.crawls, snapshot: due.pages },
    oldest_due_age_s: due.oldestSeconds,
    handled: { seconds: HANDLED_SECONDS, models: await handledWithin(home.db, HANDLED_SECONDS) },
    binaries: (await binariesOf(home.db, home.machineId)).map(({ name, status, abspath, version, message }) => ({
      name,
      status,
      abspath,
      version,
      message,
    })),
    workers: await workers(home, alive),
    recent_failures: await recentFailures(home),
    disk: { free_bytes: disk.bavail * disk.bsize, archive_bytes: bytesOf(pages) },
    blocked_reason: await blockedReason(home, alive),
  }
}

type Counts = Awaited<ReturnType<typeof rowCounts>>

/** Every state of a machine, with how many rows are in it. */
function statesOf({ states }: Machine, counts: Counts): Record<string, number> {
  return Object.fromEntries(Object.keys(states).map((state) => [state, counts.get(state)?.rows ?? 0]))
}

function bytesOf(counts: Counts): number {
  return [...counts.values()].reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Counted: a machine has some dozens of programs. */
async function binaryCounts({ db }: Home): Promise<Record<string, number>> {
  const { rows } = await sql<{
    status: string
    count: number
  }>`select status, count(*) as count from "binary" group by 1`.execute(db)
  const found = new Map(rows.map(({ status, count }) => [status, { rows: count, bytes: 0 }]))
  return statesOf(binaryMachine, found)
}

async function workers(home: Home, alive: readonly LiveRow[]) {
  const below = alive.filter((row) => row.process_type === 'worker' || row.process_type === 'hook')
  const running = await sql<{
    process_id: string
    hook_name: string
    snapshot_id: string
    crawl_id: string
    url: string
    claimed_by: string | null
  }>`
    select r.process_id, r.hook_name, s.id as snapshot_id, s.crawl_id, s.url, s.claimed_by
    from archive_result r join snapshot s on s.id = r.snapshot_id where r.status = 'started'`.execute(home.db)
  const claimed = await sql<{ claimed_by: string; crawl_id: string; snapshot_id: string | null; url: string | null }>`
    select claimed_by, crawl_id, id as snapshot_id, url from snapshot where claimed_by is not null
    union all select claimed_by, id, null, null from crawl where claimed_by is not null`.execute(home.db)
  return below.map((row) => {
    const hook = running.rows.find((result) => result.process_id === row.id)
    const work = hook ?? claimed.rows.find((claim) => claim.claimed_by === row.id)
    return {
      process_id: row.id,
      pid: row.pid,
      process_type: row.process_type,
      worker_type: row.worker_type,
      crawl_id: work?.crawl_id ?? row.crawl_id,
      snapshot_id: work?.snapshot_id ?? row.snapshot_id,
      url: work?.url ?? row.url,
      hook: hook?.hook_name ?? null,
      elapsed_s: row.started_at ? (Date.now() - row.started_at.getTime()) / 1000 : null,
      rss_bytes: row.pid === null ? null : (readProc(row.pid)?.rssBytes ?? null),
      what: describe(row, hook?.hook_name),
    }
  })
}

async function recentFailures(home: Home) {
  const { rows } = await sql<{
    url: string
    plugin: string
    hook_name: string
    output_str: string
    end_ts: Date
    snapshot_id: string
  }>`
    select s.url, r.plugin, r.hook_name, r.output_str, r.end_ts, r.snapshot_id
    from archive_result r join snapshot s on s.id = r.snapshot_id
    where r.status = 'failed' order by r.id desc limit 5`.execute(home.db)
  return rows
}
