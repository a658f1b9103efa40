import { doingOf } from '../../../app/status/doing.ts'
import { type Facts, gather } from '../../../app/status/facts.ts'
import { retryCommand } from '../../../app/status/retry-command.ts'
import { duration, many, number, rate, sizeText, tookText } from '../../../base/words.ts'
import { latestEnds } from '../../../db/archived-pages.ts'
import { TRUST_MS } from '../../../db/heartbeats.ts'
import { type Lead, latestLeads } from '../../../db/leads.ts'
import type { LiveRow } from '../../../db/processes.ts'
import { queueHistory } from '../../../db/queue-history.ts'
import { foreign, type Html, html } from '../../../pages/html.ts'
import { time } from '../../../pages/layout.ts'
import { presentRows } from '../../../processes/presence.ts'
import { readProc } from '../../../processes/proc.ts'
import type { App } from '../../visit.ts'
import { archiveNow, type Web } from '../../web.ts'
import { board } from '../frame.ts'
import { pace, QUEUE_HOURS, QUEUE_PARTS, queue } from './pace.ts'
import { table } from './table.ts'

/** How many crawls in work are shown. */
const CRAWLS = 50
const LEADS = 10
/** How many ends of pages are counted for the graph of the pace. */
const ENDS = 1_000

/** What happens now, why nothing moves, and what to do. */
export function routeLive(app: App, web: Web): void {
  const { archive } = web
  app.get('/live', async (c) => {
    const [facts, rows, leads, ends, waited] = await Promise.all([
      gather(await archiveNow(web), CRAWLS),
      presentRows(archive.home),
      latestLeads(archive.home, LEADS),
      latestEnds(archive.home.db, ENDS),
      queueHistory(archive.home.db, QUEUE_HOURS, QUEUE_PARTS),
    ])
    const body = html`<h1>What happens now</h1>
${verdict(facts)}
${figures(facts)}
<h2>Crawls in work</h2>
${crawlTable(facts)}
<h2>Processes</h2>
<div id="tree" data-live>${tree(rows, facts)}</div>
${stuck(facts)}
<h2>What failed last, by cause</h2>
${failureTable(facts)}
<h2>Pages that waited</h2>
${queue(waited)}
<h2>Pages that ended</h2>
${pace(ends)}
<h2>Who led</h2>
${leadTable(leads, facts)}`
    return c.html(board('/live', 'What happens now', body, 'archive processes'))
  })
}

/** Whether it is stuck, and what to do. */
function verdict({ blocked_reason: blocked, runner, pages, failures }: Facts): Html {
  const silent = runner.heartbeat_age_s ?? 0
  const [kind, text] =
    blocked !== null
      ? ['failed', html`<b>Nothing moves:</b> ${foreign(blocked)}`]
      : pages.working > 0
        ? ['open', html`<b>${many(pages.working, 'page')}</b> ${pages.working === 1 ? 'is' : 'are'} in work.`]
        : runner.state === 'none'
          ? ['partial', html`No runner leads, and nothing waits. <code>archivebox-ts run</code> starts one.`]
          : silent > TRUST_MS / 1_000
            ? [
                'partial',
                html`Nothing waits, but the runner, pid ${runner.pid}, sent no heartbeat for ${duration(silent)}.`,
              ]
            : ['open', html`Nothing waits: a runner is ready.`]
  const wrong =
    failures.length > 0
      ? html` <a href="#failures">${many(
          failures.reduce((sum, { pages }) => sum + pages, 0),
          'page',
        )} failed lately.</a>`
      : ''
  return html`<p class="cause ${kind}" id="verdict" data-live role="status">${text}${wrong}</p>`
}

function figures(facts: Facts): Html {
  const { pages, due, runner, standbys, disk, database, queue, backup } = facts
  const fact = (name: string, label: string, value: number, shown: string = number(value)) =>
    html`<div><dt>${label}</dt><dd data-fact="${name}" data-value="${value}">${shown}</dd></div>\n`
  const beat = runner.heartbeat_age_s
  return html`<dl class="figures" id="figures" data-live>
${fact('pages.working', 'in work', pages.working)}${fact('pages.queued', 'queued', pages.queued)}${fact(
  'pages.waiting',
  'to be retried',
  pages.waiting,
)}${fact('pages.interrupted', 'interrupted', pages.interrupted)}${fact('pages.paused', 'paused', pages.paused)}${fact(
  'pages.archived',
  'archived',
  pages.archived,
)}${fact('pages.partial', 'partial', pages.partial)}${fact('pages.failed', 'failed', pages.failed)}${fact(
  'queue.crawl.started',
  'crawls in work',
  queue.crawl['started'] ?? 0,
)}${fact('queue.crawl.queued', 'crawls queued', queue.crawl['queued'] ?? 0)}
${fact('due.snapshot', 'due now', due.snapshot)}
${
  facts.oldest_due_age_s === null
    ? ''
    : html`<div><dt>waiting for at most</dt><dd>${duration(facts.oldest_due_age_s)}</dd></div>`
}
<div class="long"><dt>runner</dt><dd data-fact="runner.state" data-value="${runner.state}">${
    runner.state === 'none'
      ? 'none'
      : html`${runner.state}, pid ${runner.pid}, term ${runner.term}${
          runner.started_at && html`, since ${time(runner.started_at)}`
        }`
  }${beat === null || beat < 10 ? '' : html`, last heartbeat ${duration(beat)} ago`}</dd></div>
<div class="long"><dt>standing by</dt><dd data-fact="standbys.length" data-value="${standbys.length}">${
    standbys.length === 0
      ? 'nobody'
      : standbys.map(({ pid, waits_for: why }) => html`pid ${pid}${why && html`: ${foreign(why)}`} `)
  }</dd></div>
<div class="long"><dt>database</dt><dd>${database.kind} PostgreSQL ${database.server_version.split(' ')[0]}, ${sizeText(
    database.size_bytes,
  )}</dd></div>
<div class="long"><dt>disk</dt><dd>${sizeText(disk.free_bytes)} free, archive ${sizeText(disk.archive_bytes)}</dd></div>
<div class="long"><dt>last backup</dt><dd>${
    backup.last
      ? html`${time(backup.last.begun_at)}, ${foreign(backup.last.file)}`
      : html`none: <code>archivebox-ts backup FILE</code>`
  }${
    backup.failed && html`; <b>failed</b> ${time(backup.failed.begun_at)}: ${foreign(backup.failed.why ?? '')}`
  }</dd></div>
</dl>`
}

function crawlTable({ crawls, other_crawls: others }: Facts): Html {
  const rows = crawls.map((crawl) => {
    const { id, label, first_url: url, done, total, grows, pages_per_second: pace, seconds_left: left, status } = crawl
    return {
      cells: [
        html`<a href="/crawls/${id}">${foreign(label || url)}</a>`,
        status,
        html`<progress max="${Math.max(total, 1)}" value="${done}" aria-label="Progress"></progress>
${number(done)} of ${number(total)}${grows ? ', and more' : ''}`,
        pace === null ? '' : rate(pace),
        left === null ? '' : `about ${tookText(Math.max(10, left))}`,
        crawl.counts.failed > 0 ? html`<span class="badge failed">${number(crawl.counts.failed)} failed</span>` : '',
      ],
    }
  })
  return html`${table({
    ...{ caption: 'Crawls in work', id: 'crawls', isLive: true, rows, none: 'No crawl is open.' },
    heads: ['Crawl', 'Status', 'Done', 'Pace', 'Left', 'Failed'],
  })}${others > 0 ? html`<p class="dim">and <a href="/crawls">${many(others, 'other crawl')}</a></p>` : ''}`
}

/** The tree of processes, and the pages that they work on. */
function tree(rows: readonly LiveRow[], { in_work: inWork }: Facts): Html {
  const level = (parent: string | null): Html => {
    const here = rows.filter(({ id, parent_id }) =>
      parent === null ? !rows.some((other) => other.id === parent_id) : parent_id === parent && id !== parent,
    )
    return here.length === 0 ? html`` : html`<ul class="tree">${here.map(entry)}</ul>`
  }
  const entry = (row: LiveRow): Html => {
    const { what, since, pages } = doingOf(row, inWork)
    const rss = row.pid === null ? undefined : readProc(row.pid)?.rssBytes
    const age = since && duration((Date.now() - since.getTime()) / 1_000)
    const about = [`pid ${row.pid ?? '-'}`, age, rss && sizeText(rss), row.url && !row.snapshot_id && row.url]
    return html`<li><b>${what}</b> <span class="dim">${about.filter(Boolean).join(', ')}</span>${pages.map(
      ({ id, url }) => html` <a href="/snapshots/${id}">${foreign(url)}</a>`,
    )}${level(row.id)}</li>
`
  }
  return rows.length === 0 ? html`<p class="dim">Nothing is running.</p>` : level(null)
}

function stuck({ stuck: all }: Facts): Html {
  return html`<div id="stuck" data-live>${all.map(
    ({ process_type: type, pid, why }) =>
      html`<p class="cause failed"><b>${type} pid ${pid} is stuck:</b> ${foreign(why ?? '')}</p>\n`,
  )}</div>`
}

function failureTable({ failures, failures_looked_at: looked }: Facts): Html {
  const rows = failures.map((group) => ({
    kind: group.partial === group.pages ? 'partial' : 'failed',
    cells: [
      html`${foreign(group.cause)}${group.host && html` <small>${foreign(group.host)}</small>`}`,
      html`<a href="/snapshots/${group.snapshot_ids[0]}">${many(group.pages, 'page')}</a>`,
      time(group.sealed_at),
      html`<code>${retryCommand(group)}</code>`,
    ],
  }))
  return html`${table({
    ...{ caption: 'What failed last, by cause', id: 'failures', isLive: true, rows, none: 'Nothing failed.' },
    heads: ['Cause', 'Pages', 'Last', 'Retry'],
  })}${looked >= 1_000 ? html`<p class="dim">Of the last ${number(looked)} that failed.</p>` : ''}`
}

/** A leader that was killed leads by its row until that is closed. */
function leadTable(leads: readonly Lead[], { runner }: Facts): Html {
  const until = ({ process_id: id, ended_at: at, is_lost: isLost }: Lead) =>
    at ? html`${time(at)}${isLost ? ', its end unseen' : ''}` : id === runner.process_id ? html`<b>leads</b>` : 'gone'
  const rows = leads.map((lead) => ({
    cells: [
      `term ${lead.term}`,
      lead.pid === null ? '' : `pid ${lead.pid}`,
      time(lead.began_at),
      until(lead),
      lead.gap_ms === 0 ? '' : tookText(lead.gap_ms / 1_000),
    ],
  }))
  return table({
    ...{ caption: 'Who led', id: 'leads', isLive: true, rows, none: 'Nobody has led yet.' },
    heads: ['Term', 'Process', 'From', 'Until', 'Without a leader before'],
  })
}
