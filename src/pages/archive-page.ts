import { many, number, sizeText } from '../base/words.ts'
import { foreign, type Html, html } from './html.ts'
import { CRAWL_STATUSES, data, page, time } from './layout.ts'
import type { ArchiveCrawl, ArchivePage } from './model/archive.ts'
import { crawlName } from './model/crawl-name.ts'
import { pageList } from './page-list.ts'
import type { Place } from './place.ts'

/** How many crawls are shown at once; the others open by a click. */
const CRAWLS_SHOWN = 4

/** The top of the archive: its crawls, newest first, and a list of all of its pages. */
export function archivePage({ crawls, totalCrawls, totalBytes, index }: ArchivePage, place: Place): string {
  const line = (crawl: ArchiveCrawl) => crawlCard(crawl, place)
  const totals = [many(index.pages, 'page'), many(totalCrawls, 'crawl'), sizeText(totalBytes)]
  const more = totalCrawls - crawls.length
  const listed = { chunks: index.chunks, total: index.pages }
  const body = html`<header class="head">
<h1>Archive</h1>
<p class="dim">${totals.join(' · ')}</p>
<section class="crawls" aria-label="Crawls">
<ul>${crawls.slice(0, CRAWLS_SHOWN).map(line)}</ul>
${
  crawls.length > CRAWLS_SHOWN
    ? html`<details><summary>More crawls</summary><ul>${crawls.slice(CRAWLS_SHOWN).map(line)}</ul>
${more > 0 ? html`<p class="dim">and ${number(more)} older: <code>archivebox-ts crawl list</code></p>` : ''}</details>`
    : ''
}
</section>
</header>
${pageList(listed)}
${data({ top: place.top, ...listed })}`
  return page({ title: 'Archive', kind: 'archive', body, scripts: index.chunks.slice(0, 1).map(place.chunk) }, place)
}

/** A crawl in a list of them. */
export function crawlCard(crawl: ArchiveCrawl, place: Pick<Place, 'crawl'>): Html {
  const name = foreign(crawlName(crawl))
  const href = place.crawl({ ...crawl, isAway: crawl.node !== '' })
  const shown = href === undefined ? html`<span>${name}</span>` : html`<a href="${href}">${name}</a>`
  const node = crawl.node && html` <span class="node">· on node ${foreign(crawl.node)}</span>`
  return html`<li>${shown}
${standing(crawl)} ${time(crawl.createdAt)}${node}</li>
`
}

/** Its progress while it runs, and its outcome. */
function standing({ status, sealed, pages, partial, failed }: ArchiveCrawl): Html {
  const badge = (outcome: 'archived' | 'partial' | 'failed', count: number) =>
    count === 0 ? html`` : html`<span class="badge ${outcome}">${number(count)} ${outcome}</span> `
  const isOver = status === 'sealed'
  return html`${
    isOver
      ? ''
      : html`<span class="status ${status}">${CRAWL_STATUSES[status]}</span> ${number(sealed)} of ${number(pages)} `
  }${badge('archived', sealed - partial - failed)}${badge('partial', partial)}${badge('failed', failed)}`
}
