import { many, number, sizeText } from '../base/words.ts'
import type { WorkStatus } from '../db/tables.ts'
import type { PageAssets } from './assets.ts'
import { crawlName, type NamedCrawl } from './crawl-name.ts'
import { CRAWL_STATUSES, data, foreign, type Html, href, html, page, time } from './layout.ts'
import { pageList } from './page-list.ts'

interface ArchiveCrawl extends NamedCrawl {
  readonly status: WorkStatus
  readonly createdAt: Date
  /** Relative path to its folder. */
  readonly path: string
  /** How many of its pages came to an end; and of these, in which way. */
  readonly sealed: number
  readonly partial: number
  readonly failed: number
}

export interface ArchivePage {
  readonly assets: PageAssets
  /** The latest, newest first. */
  readonly crawls: readonly ArchiveCrawl[]
  readonly totalCrawls: number
  /** Those in the index. */
  readonly totalPages: number
  readonly totalBytes: number
  /** The chunks of the index, the latest first. */
  readonly chunks: readonly number[]
}

/** Crawls that are seen at once; the others by a click. */
const CRAWLS_SHOWN = 4

/** The top of the archive: its crawls, newest first, and a list of all of its pages. */
export function archivePage(archive: ArchivePage): string {
  const line = (
    crawl: ArchiveCrawl,
  ) => html`<li><a href="${href(crawl.path)}/index.html">${foreign(crawlName(crawl))}</a>
${standing(crawl)} ${time(crawl.createdAt)}</li>
`
  const { totalPages, totalCrawls, totalBytes } = archive
  const totals = [many(totalPages, 'page'), many(totalCrawls, 'crawl'), sizeText(totalBytes)]
  const more = archive.totalCrawls - archive.crawls.length
  return page({
    title: 'Archive',
    kind: 'archive',
    assets: archive.assets,
    top: '.',
    scripts: archive.chunks.slice(0, 1).map((chunk) => `archive/index/${chunk}.js`),
    body: html`<header class="head">
<h1>Archive</h1>
<p class="dim">${totals.join(' · ')}</p>
<section class="crawls" aria-label="Crawls">
<ul>${archive.crawls.slice(0, CRAWLS_SHOWN).map(line)}</ul>
${
  archive.crawls.length > CRAWLS_SHOWN
    ? html`<details><summary>More crawls</summary><ul>${archive.crawls.slice(CRAWLS_SHOWN).map(line)}</ul>
${more > 0 ? html`<p class="dim">and ${number(more)} older: <code>archivebox-ts crawl list</code></p>` : ''}</details>`
    : ''
}
</section>
</header>
${pageList({ index: { top: '.', chunks: archive.chunks }, total: archive.totalPages })}
${data({ top: '.', chunks: archive.chunks, total: archive.totalPages })}`,
  })
}

/** How far it is while it runs, and how it went. */
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
