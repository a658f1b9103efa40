import { statfsSync } from 'node:fs'
import { sql } from 'kysely'
import { lacksRoom } from '../../base/disk-room.ts'
import { VERSION } from '../../base/version.ts'
import { binariesOf } from '../../db/binaries.ts'
import type { Home } from '../../db/home.ts'
import type { LiveRow } from '../../db/processes.ts'
import { maskPassword } from '../../db/trouble.ts'
import type { Machine } from '../../engine/machine.ts'
import { archiveResultMachine } from '../../machines/archive-result.ts'
import { binaryMachine } from '../../machines/binary.ts'
import { crawlMachine } from '../../machines/crawl.ts'
import { handledWithin } from '../../machines/handled.ts'
import { snapshotMachine } from '../../machines/snapshot.ts'
import { presentRows } from '../../processes/presence.ts'
import { readProc } from '../../processes/proc.ts'
import { duration } from '../format.ts'
import type { OpenHome } from '../home.ts'
import { describe } from './process.ts'

/** The window of what was handled: an hour. */
const HANDLED_SECONDS = 3_600
/** A leader is heard of every few seconds; one that is silent for so long does not trust itself to lead any more. */
const SILENT_SECONDS = 25

/** What `status --json` prints. */
export type Facts = Awaited<ReturnType<typeof gather>>

/** Everything that `status` knows, read once. */
export async function gather({ home, kind, settings }: OpenHome) {
  const alive = await presentRows(home)
  const leader = alive.find((row) => row.worker_type === 'worker_runner')
  const queue = {
    crawl: await counts(home, crawlMachine),
    snapshot: await counts(home, snapshotMachine),
    archive_result: await counts(home, archiveResultMachine),
    binary: await counts(home, binaryMachine),
  }
  const [about] = (
    await sql<{
      server_version: string
      size_bytes: number
      due_crawls: number
      due_snapshots: number
      oldest: number | null
      archive_bytes: number
    }>`
    select current_setting('server_version') as server_version, pg_database_size(current_database()) as size_bytes,
           (select count(*) from crawl where status in ('queued', 'started') and retry_at <= now()) as due_crawls,
           (select count(*) from snapshot where status in ('queued', 'started') and retry_at <= now()) as due_snapshots,
           (select extract(epoch from now() - min(retry_at)) from snapshot where status in ('queued', 'started') and retry_at <= now()) as oldest,
           (select coalesce(sum(output_size), 0) from snapshot) as archive_bytes`.execute(home.db)
  ).rows
  const disk = statfsSync(home.dataDir)
  return {
    data_dir: home.dataDir,
    version: VERSION,
    machine: await home.db.selectFrom('machine').select(['id', 'hostname']).where('id', '=', home.machineId).executeTakeFirstOrThrow(),
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
      .map((row) => ({ process_id: row.id, pid: row.pid, started_at: row.started_at })),
    queue,
    due: { crawl: about!.due_crawls, snapshot: about!.due_snapshots },
    oldest_due_age_s: about!.oldest,
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
    disk: { free_bytes: disk.bavail * disk.bsize, archive_bytes: about!.archive_bytes },
    blocked_reason:
      about!.due_crawls + about!.due_snapshots > 0 ? blockedReason(leader, lacksRoom(home.dataDir, settings.config.DISK_FLOOR)) : null,
  }
}

/** Why nothing moves although something is due. */
function blockedReason(leader: LiveRow | undefined, noRoom: string | undefined): string | null {
  if (!leader) return 'no runner: start one with archivebox-ts run'
  const silent = leader.heartbeat_age_s ?? 0
  if (silent > SILENT_SECONDS) {
    return `runner pid ${leader.pid} has not been heard of for ${duration(silent)} (stopped, or cut off from the database): start another, which takes over`
  }
  return noRoom ?? null
}

/** One indexed count for each status: cheaper than grouping the whole table when most rows are sealed. */
async function counts(home: Home, machine: Machine): Promise<Record<string, number>> {
  const each = Object.keys(machine.states).map(
    (state) => sql`(select count(*) from ${sql.table(machine.table)} where status = ${state}) as ${sql.ref(state)}`,
  )
  const { rows } = await sql<Record<string, number>>`select ${sql.join(each)}`.execute(home.db)
  return rows[0]!
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
  const { rows } = await sql<{ url: string; plugin: string; hook_name: string; output_str: string; end_ts: Date; snapshot_id: string }>`
    select s.url, r.plugin, r.hook_name, r.output_str, r.end_ts, r.snapshot_id
    from archive_result r join snapshot s on s.id = r.snapshot_id
    where r.status = 'failed' order by r.end_ts desc limit 5`.execute(home.db)
  return rows
}
