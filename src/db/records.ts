import type { Selectable } from 'kysely'
import { isSecretName } from '../base/config.ts'
import { NO_PAGES, type PageCounts } from './counts.ts'
import type { CrawlRow } from './crawls.ts'
import type { Home } from './home.ts'
import type { ListedMachine } from './machines.ts'
import type { ListedNode } from './node-list.ts'
import type { ProcessRow } from './processes.ts'
import type { ListedSchedule } from './schedules.ts'
import type { SnapshotRow } from './snapshots.ts'
import type { ArchiveResultTable, CrawlConfig, FrozenSetting } from './tables.ts'
import type { Tag } from './tags.ts'

// Rows as JSON on stdout and in index.jsonl. These names are a stable interface; the tables' are not.

export function crawlRecord(row: CrawlRow & { readonly counts?: PageCounts }) {
  return {
    type: 'Crawl',
    id: row.id,
    urls: row.urls.split('\n'), // The first of them, of a long list.
    urls_total: row.urls_total,
    status: row.status,
    counts: row.counts ?? NO_PAGES,
    max_depth: row.max_depth,
    max_urls: row.max_urls,
    max_size: row.max_size,
    tags: row.tags,
    label: row.label,
    message: row.message,
    settings: settingsOf(row.config),
    created_at: row.created_at,
    retry_at: row.retry_at,
    output_dir: row.output_dir,
  }
}

/** The settings of a crawl, with their sources; its own override the others. */
function settingsOf({ env = {}, frozen = {} }: CrawlConfig): Record<string, FrozenSetting> {
  return { ...frozen, ...withSource(env, 'crawl') }
}

function withSource(own: Readonly<Record<string, string>>, source: FrozenSetting['source']) {
  const shown = (name: string, value: string): FrozenSetting => ({ value: isSecretName(name) ? '***' : value, source })
  return Object.fromEntries(Object.entries(own).map(([name, value]) => [name, shown(name, value)]))
}

export function snapshotRecord(row: SnapshotRow & { readonly tags?: readonly string[] }) {
  return {
    type: 'Snapshot',
    id: row.id,
    crawl_id: row.crawl_id,
    parent_snapshot_id: row.parent_snapshot_id,
    url: row.url,
    title: row.title,
    depth: row.depth,
    tags: row.tags ?? [],
    notes: row.notes,
    bookmarked_at: row.bookmarked_at,
    status: row.status,
    outcome: row.outcome,
    cause: row.cause,
    http_status: row.http_status,
    settings: withSource(row.settings ?? {}, 'snapshot'),
    created_at: row.created_at,
    retry_at: row.retry_at,
    sealed_at: row.status === 'sealed' ? row.status_changed_at : null,
    output_dir: row.output_dir,
    output_size: row.output_size,
  }
}

export function resultRecord(row: Selectable<ArchiveResultTable>) {
  return {
    type: 'ArchiveResult',
    id: row.id,
    snapshot_id: row.snapshot_id,
    plugin: row.plugin,
    hook_name: row.hook_name,
    status: row.status,
    output_str: row.output_str,
    output_files: row.output_files,
    output_size: row.output_size,
    start_ts: row.start_ts,
    end_ts: row.end_ts,
    attempt: row.attempt,
    process_id: row.process_id,
  }
}

export function processRecord(row: ProcessRow) {
  return {
    type: 'Process',
    id: row.id,
    parent_id: row.parent_id,
    machine_id: row.machine_id,
    process_type: row.process_type,
    worker_type: row.worker_type,
    status: row.status,
    pid: row.pid,
    pwd: row.pwd,
    cmd: row.cmd,
    started_at: row.started_at,
    ended_at: row.ended_at,
    exit_code: row.exit_code,
    exit_signal: row.exit_signal,
    timeout: row.timeout,
    url: row.url,
    crawl_id: row.crawl_id,
    snapshot_id: row.snapshot_id,
    term: row.term,
  }
}

export function scheduleRecord({ crawl, ...row }: ListedSchedule) {
  return {
    type: 'Schedule',
    id: row.id,
    status: row.status,
    every: row.every,
    cron: row.cron,
    timezone: row.timezone,
    next_at: row.status === 'paused' ? null : row.next_at,
    last_at: row.last_at,
    last_crawl_id: row.last_crawl_id,
    message: row.message,
    urls: row.urls.split('\n'),
    max_depth: crawl.maxDepth,
    max_urls: crawl.maxUrls,
    max_size: crawl.maxSize,
    tags: crawl.tags,
    label: crawl.label,
    created_at: row.created_at,
  }
}

/** @param home from which it is seen */
export function machineRecord(machine: ListedMachine, home: Pick<Home, 'machineId'>) {
  const { id, hostname, os_platform, os_arch, created_at, processes, runner, heartbeat_at } = machine
  const here = id === home.machineId
  return {
    type: 'Machine',
    id,
    hostname,
    os_platform,
    os_arch,
    here,
    processes,
    runner,
    heartbeat_at,
    created_at,
  } as const
}

/** A node as programs see it. */
export function nodeRecord(node: ListedNode, home: Pick<Home, 'dataDirId'>) {
  const { about: _, crawls, pages_in_work, ...rest } = node
  return { type: 'Node', ...rest, here: node.id === home.dataDirId, crawls_in_work: crawls, pages_in_work } as const
}

export const tagRecord = (tag: Tag) => ({ type: 'Tag', ...tag })
