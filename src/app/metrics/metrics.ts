import type { About } from './exposition.ts'

/** Every metric, in the order in which they are shown. Those that begin with `process_` are of who is asked. */
export const METRICS = {
  archivebox_up: gauge('Whether the database answers; without it there is no other figure of the archive.'),
  archivebox_pages: gauge('Finished pages that are there, by outcome.', 'outcome'),
  archivebox_pages_ended_total: counter('Pages that have ended, by outcome, whatever was deleted since.', 'outcome'),
  archivebox_pages_working: gauge('Pages in work.'),
  archivebox_pages_interrupted: gauge('Pages that were begun, but that nobody works on.'),
  archivebox_rows: gauge('Rows of a model, by state.', 'model', 'state'),
  archivebox_due: gauge('Rows that are due now: crawls and pages (snapshot).', 'model'),
  archivebox_oldest_due_age_seconds: gauge('How long the oldest of these has waited; 0: nothing is due.', 'model'),
  archivebox_hooks_ended_total: counter('Hooks that have ended, by plugin; `other`: not installed any more.', 'plugin'),
  archivebox_hook_seconds_total: counter('How long these took.', 'plugin'),
  archivebox_runner_leads: gauge('Whether a runner leads and sends heartbeats.'),
  archivebox_runner_heartbeat_age_seconds: gauge('The age of its last heartbeat.'),
  archivebox_takeovers_total: counter('How often a runner took the lead, from another one or from nobody.'),
  archivebox_leaderless_seconds_total: counter('How long nobody led, until the last of these.'),
  archivebox_leader_missing_seconds: gauge('How long nobody has led now; 0: a runner leads.'),
  archivebox_standbys: gauge('Runners that stand by.'),
  archivebox_blocked: gauge('Whether work waits although it is due; `status` says why.'),
  archivebox_workers_memory_bytes: gauge('Memory of workers and hooks.'),
  archivebox_database_size_bytes: gauge('The size of the database.'),
  archivebox_archive_size_bytes: gauge('The size of the files of pages.'),
  archivebox_disk_free_bytes: gauge('Free disk space of the archive.'),
  archivebox_disk_floor_bytes: gauge('Below this no page is started: DISK_FLOOR.'),
  archivebox_last_backup_age_seconds: gauge('The age of the last backup, by hand or not.'),
  archivebox_last_backup_size_bytes: gauge('Its size.'),
  archivebox_backup_every_seconds: gauge('How often one is to be made: BACKUP_EVERY.'),
  archivebox_backup_failed: gauge('Whether the last attempt at a backup failed.'),
  process_cpu_seconds_total: counter('CPU that this process has used.'),
  process_resident_memory_bytes: gauge('Memory of this process.'),
  process_start_time_seconds: gauge('When this process began, in seconds since 1970.'),
} as const satisfies Readonly<Record<string, About>>

export type MetricName = keyof typeof METRICS

function gauge(help: string, ...labels: readonly string[]): About {
  return { type: 'gauge', help, labels }
}

function counter(help: string, ...labels: readonly string[]): About {
  return { type: 'counter', help, labels }
}
