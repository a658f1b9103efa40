import type { WorkStatus } from '../db/tables.ts'
import { href, html, page, when } from './layout.ts'

export interface ArchivePage {
  readonly crawls: readonly {
    readonly name: string
    readonly status: WorkStatus
    readonly createdAt: Date
    /** Relative path to its folder. */
    readonly path: string
    readonly snapshots: number
    readonly sealed: number
  }[]
  readonly totalCrawls: number
  readonly totalSnapshots: number
}

/** The top of the archive: its crawls, newest first. */
export function archivePage(data: ArchivePage): string {
  const more = data.totalCrawls - data.crawls.length
  return page(
    'Archive',
    html`<h1>Archive</h1>
<p class="dim">${data.totalSnapshots} page${data.totalSnapshots === 1 ? '' : 's'} in ${data.totalCrawls} crawl${data.totalCrawls === 1 ? '' : 's'}</p>
<table><tr><th>crawl</th><th>status</th><th class="n">pages</th><th class="n">added</th></tr>${data.crawls.map(
      (
        crawl,
      ) => html`<tr><td><a href="${href(crawl.path)}/index.html">${crawl.name}</a></td><td class="${crawl.status}">${crawl.status}</td>
<td class="n">${crawl.sealed === crawl.snapshots ? crawl.snapshots : `${crawl.sealed} of ${crawl.snapshots}`}</td><td class="n">${when(crawl.createdAt)}</td></tr>
`,
    )}</table>
${more > 0 ? html`<p class="dim">and ${more} older</p>` : ''}`,
  )
}
