import { duration, number } from '../base/words.ts'
import type { Outcome, WorkStatus } from '../db/tables.ts'
import type { PageAssets } from './assets.ts'
import { crawlName, type NamedCrawl } from './crawl-name.ts'
import { CRAWL_STATUSES, data, foreign, type Html, html, page, time } from './layout.ts'
import { type IndexPlace, pageList } from './page-list.ts'

export interface CrawlPage extends NamedCrawl {
  readonly assets: PageAssets
  readonly id: string
  readonly tags: readonly string[]
  readonly status: WorkStatus
  /** What there is to say of its end. */
  readonly message: string
  readonly maxDepth: number
  readonly createdAt: Date
  readonly writtenAt: Date
  /** How many of its pages are in which state. */
  readonly counts: CrawlCounts
  /** Seconds to its end, as far as its pace tells; null when that would be a guess. */
  readonly secondsLeft: number | null
  /** One file that replays all of its pages, relative to this one; undefined: there is none. */
  readonly waczPath: string | undefined
  readonly index: IndexPlace
}

export type CrawlCounts = Readonly<Record<Exclude<WorkStatus, 'sealed'> | Outcome, number>>

/**
 * The page of one crawl: how it stands, what failed and why, and its pages. It comes again by itself until the crawl
 * is finished.
 */
export function crawlPage(crawl: CrawlPage): string {
  const { counts, status, index } = crawl
  const name = crawlName(crawl)
  const done = counts.archived + counts.partial + counts.failed
  const failed = counts.failed + counts.partial
  const isLive = status === 'queued' || status === 'started'
  return page({
    title: name,
    kind: 'crawl',
    assets: crawl.assets,
    top: index.top,
    scripts: index.chunks.slice(0, 2).map((chunk) => `${index.top}/archive/index/${chunk}.js`),
    body: html`<header class="head">
<nav class="crumbs" aria-label="Where this is"><a href="${index.top}/index.html">Archive</a></nav>
<h1>${foreign(name)}</h1>
<p class="dim"><span class="status ${status}">${CRAWL_STATUSES[status]}</span> added ${time(crawl.createdAt)}${
      crawl.maxDepth > 0 ? ` · follows links ${crawl.maxDepth} deep` : ''
    }${crawl.tags.map((tag) => html` <span class="chip">${foreign(tag)}</span>`)}</p>
<p class="progress"><b>${number(done)}</b> of ${number(crawl.pages)} pages done${
      counts.queued + counts.started > 0 ? ` · ${number(counts.started)} in work, ${number(counts.queued)} waiting` : ''
    }${counts.paused > 0 ? ` · ${number(counts.paused)} paused` : ''}${
      crawl.secondsLeft === null
        ? ''
        : html`<span id="left"> · about ${duration(Math.max(10, crawl.secondsLeft))} left</span>`
    }</p>
${meter(counts, crawl.pages, done)}
${
  isLive
    ? html`<p id="quiet" hidden>Nothing new since ${time(crawl.writtenAt)}. If it was interrupted,
<code>archivebox-ts run</code> goes on with it.</p>`
    : ''
}
${
  failed === 0
    ? ''
    : html`<p class="dim">Try these again:
<code>archivebox-ts crawl retry --failed ${crawl.id}</code></p>`
}
${
  crawl.waczPath &&
  html`<p class="dim"><a href="${crawl.waczPath}" download>${crawl.waczPath}</a> replays them in ReplayWeb.page</p>`
}
${crawl.message && html`<p class="cause failed">${foreign(crawl.message)}</p>`}
</header>
${pageList({ index, total: done })}
${data({
  top: index.top,
  chunks: index.chunks,
  crawl: crawl.id,
  total: done,
  live: isLive,
  writtenAt: crawl.writtenAt.getTime(),
})}`,
  })
}

/** How far it is, in colours. */
function meter(counts: CrawlCounts, pages: number, done: number): Html {
  const bar = (outcome: Outcome, from: number) =>
    html`<rect class="${outcome}" x="${from}" width="${counts[outcome]}" height="1"/>`
  return html`<svg class="meter" viewBox="0 0 ${Math.max(pages, 1)} 1" preserveAspectRatio="none"
role="img" aria-label="${done} of ${pages} pages done">${bar('archived', 0)}${bar('partial', counts.archived)}${bar(
    'failed',
    counts.archived + counts.partial,
  )}</svg>`
}
