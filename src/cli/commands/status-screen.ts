import pc from 'picocolors'
import { sizeText } from '../../pages/layout.ts'
import { duration } from '../format.ts'
import type { Facts } from './status-facts.ts'

/** One screen of it, for people. */
export function screen(facts: Facts): string {
  const { runner, database, queue, disk } = facts
  const lines: string[] = []
  const line = (key: string, value: string) => lines.push(`${pc.dim(key.padEnd(10))} ${value}`)
  line('data dir', facts.data_dir)
  line(
    'runner',
    runner.state === 'none'
      ? pc.yellow('none')
      : `${pc.green(runner.state)}, pid ${runner.pid}, term ${runner.term}, for ${duration((Date.now() - runner.started_at!.getTime()) / 1000)}, heartbeat ${duration(runner.heartbeat_age_s ?? 0)} ago, containment ${runner.containment ?? 'unknown'}`,
  )
  if (facts.standbys.length > 0) line('standing by', facts.standbys.map(({ pid }) => `pid ${pid}`).join(', '))
  line('crawls', summary(queue.crawl))
  line(
    'pages',
    `${summary(queue.snapshot)}${facts.due.snapshot > 0 ? `; ${facts.due.snapshot} due, the oldest for ${duration(facts.oldest_due_age_s ?? 0)}` : ''}`,
  )
  line('hooks', summary(queue.archive_result))
  const { crawl = {}, snapshot = {}, archive_result = {} } = facts.handled.models
  line(
    'last hour',
    `crawls ${summary(ended(crawl))}; pages ${summary(ended(snapshot))}; hooks ${summary(ended(archive_result))}`,
  )
  const missing = facts.binaries.filter(({ status }) => status === 'queued')
  if (facts.binaries.length > 0)
    line(
      'programs',
      `${summary(queue.binary)}${missing.map(({ message }) => (message ? `; ${message}` : '')).join('')}`,
    )
  line('database', `${database.kind}, PostgreSQL ${database.server_version}, ${sizeText(database.size_bytes)}`)
  line('disk', `${sizeText(disk.free_bytes)} free, archive ${sizeText(disk.archive_bytes)}`)
  for (const worker of facts.workers) {
    const size = worker.rss_bytes === null ? '' : `, ${sizeText(worker.rss_bytes)}`
    const what = `${worker.what} ${pc.dim(`pid ${worker.pid}, ${duration(worker.elapsed_s ?? 0)}${size}`)}`
    lines.push(`  ${what}${worker.url ? ` ${worker.url}` : ''}`)
  }
  if (facts.recent_failures.length > 0) lines.push(pc.dim('last failures'))
  for (const failure of facts.recent_failures)
    lines.push(`  ${pc.red(failure.plugin)} ${failure.url}: ${failure.output_str}`)
  if (facts.blocked_reason) line('nothing moves', pc.yellow(facts.blocked_reason))
  return `${lines.join('\n')}\n`
}

/** Of the states that rows came to, those that end something. */
function ended({
  queued: _,
  started: __,
  ...states
}: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return states
}

function summary(states: Readonly<Record<string, number>>): string {
  const some = Object.entries(states).filter(([, count]) => count > 0)
  return some.length === 0 ? 'none' : some.map(([state, count]) => `${count} ${state}`).join(', ')
}
