import type { WorkStatus } from '../db/tables.ts'
import { href, html, page, sizeText, when } from './layout.ts'

export interface CrawlPage {
  readonly id: string
  readonly urls: readonly string[]
  readonly label: string
  readonly tags: readonly string[]
  readonly status: WorkStatus
  /** What there is to say of its end. */
  readonly message: string
  readonly maxDepth: number
  readonly createdAt: Date
  readonly topHref: string
  /** All snapshots, or the first of very many. */
  readonly snapshots: readonly SnapshotLine[]
  readonly total: number
}

interface SnapshotLine {
  readonly url: string
  readonly title: string | null
  readonly status: WorkStatus
  readonly depth: number
  /** Relative path to its folder. */
  readonly path: string
  readonly size: number
  readonly succeeded: number
  readonly failed: number
}

/** The page of one crawl: its snapshots. */
export function crawlPage(data: CrawlPage): string {
  const name = data.label || data.urls[0] || data.id
  const more = data.total - data.snapshots.length
  return page(
    name,
    html`<p class="dim"><a href="${data.topHref}">archive</a></p>
<h1>${name}</h1>
<p class="dim">crawl ${data.id} · <span class="${data.status}">${data.status}</span> · added ${when(data.createdAt)} · depth ${data.maxDepth} · ${data.total} pages${data.tags.length > 0 ? ` · ${data.tags.join(', ')}` : ''}</p>
${data.message ? html`<p class="failed">${data.message}</p>` : ''}
<table><tr><th>page</th><th>status</th><th class="n">ok</th><th class="n">failed</th><th class="n">size</th></tr>${data.snapshots.map(
      (
        line,
      ) => html`<tr><td><a href="${href(line.path)}/index.html">${line.title ?? line.url}</a><br><span class="dim">${line.url}</span></td>
<td class="${line.status}">${line.status}</td><td class="n">${line.succeeded}</td><td class="n">${line.failed}</td><td class="n">${sizeText(line.size)}</td></tr>
`,
    )}</table>
${more > 0 ? html`<p class="dim">and ${more} more</p>` : ''}`,
  )
}
