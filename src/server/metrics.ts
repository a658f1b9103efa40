import { status } from '../app/status/facts.ts'
import { hookSeconds } from '../db/counts.ts'
import { lastBackup } from '../db/last-backup.ts'
import { type Lead, latestLeads } from '../db/leads.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import type { App } from './visit.ts'
import { archiveNow, type Web } from './web.ts'

/** A metric with its values. */
interface Metric {
  readonly name: string
  readonly type: 'gauge' | 'counter'
  readonly help: string
  readonly values: readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[]
}

/** The current facts of `status`, for Prometheus. */
export function routeMetrics(app: App, web: Web): void {
  app.get('/metrics', async (c) => {
    const known = await read(web).catch((error: unknown) => {
      if (!isDatabaseAway(error)) throw error
      web.database.isAway()
      return undefined
    })
    const metrics = [one('up', 'Whether the database answers.', known ? 1 : 0), ...ofServer(), ...(known ?? [])]
    return c.body(metrics.map(written).join(''), 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
  })
}

const PREFIX = 'archivebox_'
const one = (name: string, help: string, value: number): Metric => ({
  name,
  type: 'gauge',
  help,
  values: [[{}, value]],
})

async function read(web: Web): Promise<Metric[]> {
  const { home } = web.archive
  const { db } = home
  const [facts, seconds, [lead], backup] = await Promise.all([
    status(await archiveNow(web)),
    hookSeconds(db),
    latestLeads(home, 1),
    lastBackup(db),
  ])
  return [
    ...ofStatus(facts),
    {
      ...{ name: 'hook_seconds', type: 'gauge', help: 'How long hooks took, for the results that are kept.' },
      values: seconds.map(({ plugin, seconds }) => [{ plugin }, seconds]),
    },
    {
      ...{ name: 'leaderless_seconds_total', type: 'counter', help: 'How long nobody led, between leads.' },
      values: [[{}, leaderless(lead, Date.now()) / 1_000]],
    },
    ...(backup
      ? [one('last_backup_age_seconds', 'How old the last backup is.', (Date.now() - backup.made_at.getTime()) / 1_000)]
      : []),
  ]
}

/** In ms. */
function leaderless(lead: Lead | undefined, now: number): number {
  if (!lead) return 0
  return lead.leaderless_ms + (lead.ended_at ? Math.max(0, now - lead.ended_at.getTime()) : 0)
}

function ofStatus(facts: Awaited<ReturnType<typeof status>>): Metric[] {
  const { queue, pages, due, runner, database, disk, crawls, workers, oldest_due_age_s: oldest } = facts
  const outcomes = ['archived', 'partial', 'failed'] as const
  return [
    {
      ...{ name: 'rows', type: 'gauge', help: 'Rows of a model, by state.' },
      values: Object.entries(queue).flatMap(([model, states]) =>
        Object.entries(states).map(([state, rows]) => [{ model, state }, rows] as const),
      ),
    },
    {
      ...{ name: 'pages', type: 'gauge', help: 'Finished pages, by outcome.' },
      values: outcomes.map((outcome) => [{ outcome }, pages[outcome]]),
    },
    one('pages_working', 'Pages in work.', pages.working),
    one('pages_interrupted', 'Pages that were begun, but that nobody works on.', pages.interrupted),
    {
      ...{ name: 'due', type: 'gauge', help: 'Rows that are due now.' },
      values: [
        [{ model: 'crawl' }, due.crawl],
        [{ model: 'snapshot' }, due.snapshot],
      ],
    },
    one('oldest_due_age_seconds', 'How long the oldest of these pages has waited.', oldest ?? 0),
    one(
      'pages_per_second',
      'Pages that end, over the running crawls.',
      sum(crawls.map((each) => each.pages_per_second)),
    ),
    one('runner_leads', 'Whether a runner leads.', runner.state === 'none' ? 0 : 1),
    one('runner_term', 'Its term: one more with each takeover.', runner.term ?? 0),
    one('runner_heartbeat_age_seconds', 'The age of its heartbeat.', runner.heartbeat_age_s ?? 0),
    one('standbys', 'Runners that stand by.', facts.standbys.length),
    one('blocked', 'Whether work is blocked.', facts.blocked_reason === null ? 0 : 1),
    one('workers_memory_bytes', 'Memory of workers and hooks.', memoryOf(workers)),
    one('database_size_bytes', 'Size of the database.', database.size_bytes),
    one('archive_size_bytes', 'Size of the files of pages.', disk.archive_bytes),
    one('disk_free_bytes', 'Free disk space of the archive.', disk.free_bytes),
  ]
}

function ofServer(): Metric[] {
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  return [
    one('server_memory_bytes', 'Memory of this server.', rss),
    one('server_heap_bytes', 'Memory of its own objects.', heapUsed),
    {
      ...{ name: 'server_cpu_seconds_total', type: 'counter', help: 'CPU of this server since its start.' },
      values: [[{}, (user + system) / 1e6]],
    },
  ]
}

/** A worker is listed once for each of its pages. */
function memoryOf(workers: Awaited<ReturnType<typeof status>>['workers']): number {
  return sum([...new Map(workers.map((each) => [each.process_id, each.rss_bytes])).values()])
}

const sum = (values: readonly (number | null)[]) => values.reduce<number>((all, value) => all + (value ?? 0), 0)

function written({ name, type, help, values }: Metric): string {
  const lines = values.map(([labels, value]) => {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`)
    return `${PREFIX}${name}${pairs.length > 0 ? `{${pairs.join()}}` : ''} ${value}\n`
  })
  return `# HELP ${PREFIX}${name} ${help}\n# TYPE ${PREFIX}${name} ${type}\n${lines.join('')}`
}

const escaped = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
