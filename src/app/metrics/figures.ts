import { type Ended, endedTotals } from '../../db/counts.ts'
import { TRUST_MS } from '../../db/heartbeats.ts'
import { type Leading, leading } from '../../db/leads.ts'
import { crawlSettings } from '../../hooks/crawl-settings.ts'
import type { Archive } from '../archive.ts'
import { type Facts, gather } from '../status/facts.ts'
import { exposed, type Labelled, type Values } from './exposition.ts'
import { METRICS, type MetricName } from './metrics.ts'

/** The content type of the text format. */
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The values of metrics; of one that is not named there is none now. */
export type Figures = { readonly [Name in MetricName]?: Values }

const MB = 1_000_000

/** The figures as text for Prometheus. */
export function prometheusText(figures: Figures): string {
  const names = Object.keys(METRICS) as MetricName[]
  return names.map((name) => exposed(name, METRICS[name], figures[name])).join('')
}

/** The figures of an archive: those of `status`, and what is kept of its history. None of them counts rows. */
export async function archiveFigures(archive: Pick<Archive, 'home' | 'kind' | 'settings'>): Promise<Figures> {
  const { home, settings } = archive
  // One after the other: a leader has few connections.
  const facts = await gather(archive)
  const ended = await endedTotals(home.db)
  const lead = await leading(home)
  const plugins = new Set(crawlSettings(home.dataDir, settings).plugins.map(({ name }) => name))
  return {
    archivebox_up: 1,
    ...ofWork(facts),
    ...ofEnds(ended, plugins),
    ...ofRunners(facts, lead),
    ...ofPlace(facts),
    archivebox_disk_floor_bytes: settings.config.DISK_FLOOR * MB,
    ...ofBackups(facts),
    archivebox_backup_every_seconds: settings.config.BACKUP_EVERY,
  }
}

/** The figures while the database is away. */
export const AWAY: Figures = { archivebox_up: 0 }

/** The figures of the process that is asked. */
export function processFigures(): Figures {
  const { user, system } = process.cpuUsage()
  return {
    process_cpu_seconds_total: (user + system) / 1e6,
    process_resident_memory_bytes: process.memoryUsage.rss(),
    process_start_time_seconds: performance.timeOrigin / 1_000,
  }
}

function ofWork({ queue, pages, due, oldest_due_age_s: page, oldest_due_crawl_age_s: crawl }: Facts): Figures {
  return {
    archivebox_pages: (['archived', 'partial', 'failed'] as const).map((outcome) => [outcome, pages[outcome]]),
    archivebox_pages_working: pages.working,
    archivebox_pages_interrupted: pages.interrupted,
    archivebox_rows: Object.entries(queue).flatMap(([model, states]) =>
      Object.entries(states).map(([state, rows]) => [model, state, rows] as const),
    ),
    archivebox_due: [
      ['crawl', due.crawl],
      ['snapshot', due.snapshot],
    ],
    archivebox_oldest_due_age_seconds: [
      ['crawl', crawl ?? 0],
      ['snapshot', page ?? 0],
    ],
  }
}

/** Results may come from elsewhere, with plugins that nobody has heard of: these count together, lest they be many. */
function ofEnds(all: readonly Ended[], plugins: ReadonlySet<string>): Figures {
  const hooks = Map.groupBy(
    all.filter(({ model }) => model === 'archive_result'),
    ({ kind }) => (plugins.has(kind) ? kind : 'other'),
  )
  const sums = (key: 'ended' | 'seconds') =>
    [...hooks].map(([plugin, each]): Labelled => [plugin, each.reduce((sum, one) => sum + one[key], 0)])
  return {
    archivebox_pages_ended_total: all
      .filter(({ model }) => model === 'snapshot')
      .map(({ kind, ended }): Labelled => [kind, ended]),
    archivebox_hooks_ended_total: sums('ended'),
    archivebox_hook_seconds_total: sums('seconds'),
  }
}

function ofRunners({ runner, standbys, blocked_reason: blocked }: Facts, lead: Leading | undefined): Figures {
  const age = runner.heartbeat_age_s
  return {
    archivebox_runner_leads: age !== null && age <= TRUST_MS / 1_000 ? 1 : 0,
    archivebox_runner_heartbeat_age_seconds: age ?? undefined,
    archivebox_takeovers_total: lead?.leads ?? 0,
    archivebox_leaderless_seconds_total: (lead?.leaderlessMs ?? 0) / 1_000,
    archivebox_leader_missing_seconds: lead && lead.missingMs / 1_000,
    archivebox_standbys: standbys.length,
    archivebox_blocked: blocked === null ? 0 : 1,
  }
}

function ofPlace({ workers, database, disk }: Facts): Figures {
  // A worker is listed once for each of its pages.
  const memory = new Map(workers.map((each) => [each.process_id, each.rss_bytes ?? 0]))
  return {
    archivebox_workers_memory_bytes: [...memory.values()].reduce((sum, bytes) => sum + bytes, 0),
    archivebox_database_size_bytes: database.size_bytes,
    archivebox_archive_size_bytes: disk.archive_bytes,
    archivebox_disk_free_bytes: disk.free_bytes,
  }
}

function ofBackups({ backup: { last, failed } }: Facts): Figures {
  return {
    archivebox_last_backup_age_seconds: last?.age_s,
    archivebox_last_backup_size_bytes: last?.size ?? undefined,
    archivebox_backup_failed: failed ? 1 : 0,
  }
}
