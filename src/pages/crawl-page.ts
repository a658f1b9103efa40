import { number, rate, tookText } from '../base/words.ts'
import type { Outcome } from '../db/tables.ts'
import { foreign, type Html, html } from './html.ts'
import { CRAWL_STATUSES, data, live, page, time } from './layout.ts'
import type { CrawlCounts, CrawlPage } from './model/crawl.ts'
import { crawlName } from './model/crawl-name.ts'
import { NONE_YET, pageList } from './page-list.ts'
import type { Place } from './place.ts'

/** Additional data from whoever shows it. */
export interface CrawlAround {
  /** Pages per second. */
  readonly pace?: number | null | undefined
}

/** The state of a crawl. */
export function crawlHead(crawl: CrawlPage, place: Place, { pace = null }: CrawlAround = {}): Html {
  const { counts, status } = crawl
  const name = crawlName(crawl)
  const done = counts.archived + counts.partial + counts.failed
  const failed = counts.failed + counts.partial
  const isLive = status === 'queued' || status === 'started'
  return html`<header class="head"${live(place, 'head')}>
<nav class="crumbs" aria-label="Where this is"><a href="${place.archive}">Archive</a></nav>
<h1>${foreign(name)}</h1>
<p class="dim"><span class="status ${status}">${CRAWL_STATUSES[status]}</span> added ${time(crawl.createdAt)}${
    crawl.maxDepth > 0 ? ` · follows links ${crawl.maxDepth} deep` : ''
  }${crawl.tags.map((tag) => html` <span class="chip">${foreign(tag)}</span>`)}</p>
<p class="progress"><b>${number(done)}</b> of ${number(crawl.pages)} pages done${
    counts.queued + counts.started > 0 ? ` · ${number(counts.started)} in work, ${number(counts.queued)} waiting` : ''
  }${counts.paused > 0 ? ` · ${number(counts.paused)} paused` : ''}${
    crawl.secondsLeft === null
      ? ''
      : html`<span id="left"> · about ${tookText(Math.max(10, crawl.secondsLeft))} left</span>`
  }${pace === null ? '' : ` · ${rate(pace)}`}</p>
${meter(counts, crawl.pages, done)}
${
  isLive && place.comesAgain
    ? html`<p id="quiet" hidden>Nothing new since ${time(crawl.writtenAt)}.
<code>archivebox-ts crawl show ${crawl.id}</code> says how it stands; if it was interrupted,
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
  crawl.wacz &&
  html`<p class="dim"><a href="${place.file(crawl.wacz)}" download>${crawl.wacz}</a> replays them in ReplayWeb.page</p>`
}
${crawl.message && html`<p class="cause failed">${foreign(crawl.message)}</p>`}
</header>`
}

/**
 * The page of one crawl: its state, its failures and their causes, and its pages. It reloads by itself until the crawl
 * is finished.
 */
export function crawlPage(crawl: CrawlPage, place: Place): string {
  const { counts, status, chunks } = crawl
  const done = counts.archived + counts.partial + counts.failed
  const isLive = status === 'queued' || status === 'started'
  const body = html`${crawlHead(crawl, place)}
${pageList({ chunks, total: done }, status === 'sealed' ? noneEver(crawl) : NONE_YET)}
${data({
  top: place.top,
  chunks,
  crawl: crawl.id,
  total: done,
  ...(place.comesAgain && { live: isLive, writtenAt: crawl.writtenAt.getTime() }),
})}`
  return page({ title: crawlName(crawl), kind: 'crawl', body, scripts: chunks.slice(0, 2).map(place.chunk) }, place)
}

const noneEver = ({ pages }: CrawlPage) => (pages === 0 ? 'It has no pages.' : 'No page is done.')

/** Its progress, in colours. */
function meter(counts: CrawlCounts, pages: number, done: number): Html {
  const bar = (outcome: Outcome, from: number) =>
    html`<rect class="${outcome}" x="${from}" width="${counts[outcome]}" height="1"/>`
  return html`<svg class="meter" viewBox="0 0 ${Math.max(pages, 1)} 1" preserveAspectRatio="none"
role="img" aria-label="${done} of ${pages} pages done">${bar('archived', 0)}${bar('partial', counts.archived)}${bar(
    'failed',
    counts.archived + counts.partial,
  )}</svg>`
}
