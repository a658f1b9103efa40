import type { ColumnType, Generated, Kysely, Selectable } from 'kysely'
import type { Patience } from './patience.ts'

/** An instant: read as a Date, written as a Date or by an SQL expression. */
type Instant = ColumnType<Date, Date | string, Date | string>
type NullableInstant = ColumnType<Date | null, Date | string | null | undefined, Date | string | null>
/** bigint columns arrive as text; database.ts parses those of this schema to numbers (sizes, sequences: below 2^53). */
type Big = number

export const PROCESS_TYPES = [
  'orchestrator',
  'worker',
  'cli',
  'hook',
  'server',
  'add',
  'update',
  'binary',
  'supervisord',
  'search',
] as const
export type ProcessType = (typeof PROCESS_TYPES)[number]
export const WORKER_TYPES = ['worker_runner', 'runner_waiting', 'crawl', 'snapshot', 'binary'] as const
/** Empty unless it is a runner or worker. */
export type WorkerType = '' | (typeof WORKER_TYPES)[number]
/** How a process is contained with all that it starts. */
export type Tier = 'basic' | 'pidns' | 'cgroup'
export const PROCESS_STATUSES = ['starting', 'running', 'draining', 'exited', 'lost'] as const
export type ProcessStatus = (typeof PROCESS_STATUSES)[number]
export const WORK_STATUSES = ['queued', 'started', 'paused', 'sealed'] as const
export type WorkStatus = (typeof WORK_STATUSES)[number]
/** The outcome of a sealed page. */
export const OUTCOMES = ['archived', 'partial', 'failed'] as const
export type Outcome = (typeof OUTCOMES)[number]
export const RESULT_STATUSES = ['queued', 'started', 'backoff', 'succeeded', 'failed', 'skipped', 'noresults'] as const
export type ResultStatus = (typeof RESULT_STATUSES)[number]
export type BinaryStatus = 'queued' | 'installed'

export interface MachineTable {
  id: string
  guid: string
  hostname: string
  os_platform: string
  os_arch: string
  created_at: Generated<Date>
}

export interface ProcessTable {
  id: string
  seq: Generated<Big>
  machine_id: string
  data_dir: string
  data_dir_id: string
  standby: Generated<boolean>
  started_under: Generated<string[]>
  parent_id: string | null
  runner_id: string | null
  process_type: ProcessType
  worker_type: Generated<WorkerType>
  status: Generated<ProcessStatus>
  boot_id: string | null
  pid_namespace: string | null
  pid: number | null
  start_ticks: Big | null
  pwd: Generated<string>
  cmd: ColumnType<string[], string, string>
  url: string | null
  crawl_id: string | null
  snapshot_id: string | null
  timeout: number | null
  term: Big | null
  handoff_requested_by: string | null
  handoff_grace_s: Generated<number | null>
  /** A SIGTERM follows the request. */
  handoff_signal: Generated<boolean>
  promoted_at: NullableInstant
  /** Which rows a runner works on (machines/scope.ts). */
  scope: ColumnType<object | null, string | null, string | null>
  /** What keeps a runner from working: whom it waits for, or what it lacks. */
  blocked_reason: Generated<string | null>
  created_at: Generated<Date>
  started_at: NullableInstant
  heartbeat_at: NullableInstant
  ended_at: NullableInstant
  exit_code: number | null
  exit_signal: string | null
  containment: Tier | null
  cgroup: string | null
  stdout_log: string | null
  stderr_log: string | null
}

export interface RunnerTermTable {
  data_dir_id: string
  term: Big
  process_id: string
}

/** What a crawl carries for its snapshots: `add`'s options, and configuration keys for hooks under `env`. */
export interface CrawlConfig {
  readonly plugins?: readonly string[]
  readonly url_allowlist?: string
  readonly url_denylist?: string
  readonly env?: Readonly<Record<string, string>>
  /** The settings of its environment when it was created, the persona's first: later changes are for later crawls. */
  readonly frozen?: Readonly<Record<string, FrozenSetting>>
  /** Another program archived its pages: their results have no processes. */
  readonly adopted?: true
}

/** A setting with its source. */
export interface FrozenSetting {
  readonly value: string
  readonly source: 'snapshot' | 'crawl' | 'persona' | 'environment' | 'machine' | 'archivebox.toml'
}

interface WorkColumns {
  status: Generated<WorkStatus>
  retry_at: NullableInstant
  claim_token: string | null
  claimed_by: string | null
  attempts: Generated<number>
  /** The claim under which the row was last moved; null when no claim was needed for that. */
  moved_by: Generated<string | null>
  created_at: Generated<Date>
  modified_at: Generated<Date>
  status_changed_at: Generated<Date>
}

export interface CrawlTable extends WorkColumns {
  id: string
  /** The first part of its list, one URL per line; the others are in `crawl_source`. */
  urls: string
  /** How many URLs its list has. */
  urls_total: Generated<number>
  /** The part of its list that is expanded next; null when none is left. */
  next_part: Generated<number | null>
  max_depth: Generated<number>
  max_urls: Generated<number>
  max_size: Generated<Big>
  tags: Generated<string[]>
  label: Generated<string>
  message: Generated<string>
  config: ColumnType<CrawlConfig, string | undefined, string>
  output_dir: string
  /** The node that works on it, unless that does not work; null: whichever comes first. */
  home_node: Generated<string | null>
  /** Plugins whose set-up for this crawl failed, with the reason. */
  unable: ColumnType<Readonly<Record<string, string>>, never, string>
  /** The schedule that created it, and the moment that it was created for. */
  schedule_id: Generated<string | null>
  due_at: ColumnType<Date | null, Date | undefined, never>
}

/** A crawl with a locked row, as required for adding pages. */
export type LockedCrawl = Pick<Selectable<CrawlTable>, 'id' | 'max_urls' | 'max_size' | 'tags'>

export const SCHEDULE_STATUSES = ['active', 'paused'] as const

export interface ScheduleTable extends Omit<WorkColumns, 'status' | 'retry_at'> {
  id: string
  /** As typed. */
  every: string
  cron: string
  timezone: string
  /** One per line. */
  urls: string
  /** The limits, tags and settings of its crawls. */
  crawl: ColumnType<ScheduledCrawl, string, string>
  next_at: Instant
  last_at: NullableInstant
  /** What was last skipped or made up for. */
  message: Generated<string>
  status: Generated<(typeof SCHEDULE_STATUSES)[number]>
  retry_at: Instant
}

/** The options of each crawl of a schedule, without its URLs. */
export interface ScheduledCrawl {
  readonly maxDepth: number
  readonly maxUrls: number
  readonly maxSize: number
  readonly tags: readonly string[]
  readonly label: string
  readonly config: CrawlConfig
}

export interface CrawlSourceTable {
  crawl_id: string
  /** Counted from 1. */
  part: number
  /** One per line. */
  urls: string
}

export interface CrawlDetailTable {
  crawl_id: string
  /** The number in the list; 0 is the part in the crawl's row. */
  part: number
  details: string
}

export interface SnapshotTable extends WorkColumns {
  id: string
  crawl_id: string
  parent_snapshot_id: string | null
  url: string
  url_hash: Buffer
  title: string | null
  /** The note of whoever bookmarked it. */
  notes: Generated<string | null>
  bookmarked_at: NullableInstant
  depth: Generated<number>
  output_dir: string
  /** The node that began it, and has the files of its results; null: none has. */
  home_node: Generated<string | null>
  output_size: Generated<Big>
  /** Its own settings, as written; null: it has those of its crawl. */
  settings: ColumnType<Readonly<Record<string, string>> | null, never, never>
  /** Set for sealed pages; null for one that was sealed before outcomes existed and is not judged yet. */
  outcome: ColumnType<Outcome | null, never, Outcome | null>
  /** Why it is not `archived`, in one line. */
  cause: ColumnType<string | null, never, string | null>
  /** The HTTP status; null: nobody answered. */
  http_status: ColumnType<number | null, never, number | null>
}

export interface OutputFile {
  /** Bytes on disk; 0 for a link, whose target counts. */
  readonly size: number
  readonly mimetype: string
  /** The target of a symbolic link: always inside the same plugin's folder. */
  readonly link?: string
}

/** The files in a plugin's folder after a hook was published: those written since the last time, and earlier ones. */
export interface PublishedFiles {
  readonly written: Readonly<Record<string, OutputFile>>
  readonly standing: Readonly<Record<string, OutputFile>>
}

export interface ArchiveResultTable {
  id: string
  snapshot_id: string
  plugin: string
  hook_name: string
  attempt: Generated<number>
  retries: Generated<number>
  status: Generated<ResultStatus>
  process_id: string | null
  output_str: Generated<string>
  output_json: ColumnType<unknown, string | null | undefined, string | null>
  output_files: ColumnType<Record<string, OutputFile>, string | undefined, string>
  output_size: Generated<Big>
  /** The node that has its files; null: it has none. */
  node_id: Generated<string | null>
  start_ts: NullableInstant
  end_ts: NullableInstant
  created_at: Generated<Date>
}

export interface BinaryTable extends Omit<WorkColumns, 'status'> {
  id: string
  machine_id: string
  name: Generated<string>
  binproviders: Generated<string>
  min_version: Generated<string>
  abspath: Generated<string>
  version: Generated<string>
  sha256: Generated<string>
  message: Generated<string>
  status: Generated<BinaryStatus>
}

export interface TransitionTable {
  id: Generated<Big>
  model: string
  row_id: string
  from_status: string
  to_status: string
  event: string
  process_id: string | null
  at: Generated<Instant>
}

/** A kept count: to be summed (src/db/counts.ts). */
interface RowCountView {
  model: string
  status: string
  /** Of sealed pages; for results their plugin; '' for all others. */
  outcome: string
  rows: Big
  bytes: Big
}

interface CrawlPagesView {
  crawl_id: string
  status: WorkStatus
  outcome: Outcome | ''
  pages: Big
}

export interface Tables {
  machine: MachineTable
  process: ProcessTable
  runner_term: RunnerTermTable
  crawl: CrawlTable
  crawl_source: CrawlSourceTable
  crawl_detail: CrawlDetailTable
  schedule: ScheduleTable
  snapshot: SnapshotTable
  archive_result: ArchiveResultTable
  latest_result: ArchiveResultTable
  binary: BinaryTable
  tag: { id: Generated<string>; name: string }
  snapshot_tag: { snapshot_id: string; tag_id: string }
  transition: TransitionTable
  row_count: RowCountView
  crawl_pages: CrawlPagesView
}

/** Access to these tables, on the pool or inside a transaction. */
export interface Database extends Kysely<Tables> {
  /** How `withRetry` and new connections wait for a database that is away; without it they fail at once. */
  patience?: Patience | undefined
}
