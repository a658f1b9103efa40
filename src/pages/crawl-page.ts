import type { Outcome, WorkStatus } from '../db/tables.ts'
import type { PageAssets } from './assets.ts'
import { crawlName, type NamedCrawl } from './crawl-name.ts'
import { CRAWL_STATUSES, data, foreign, html, page, time } from './layout.ts'
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
  readonly index: IndexPlace
}

export type CrawlCounts = Readonly<Record<Exclude<WorkStatus, 'sealed'> | Outcome, number>>

/** The page of one crawl: how it stands, what failed and why, and its pages. It comes again by itself until the crawl is finished. */
export function crawlPage(crawl: CrawlPage): string {
  const { counts, status, index } = crawl
  const name = crawlName(crawl)
  const done = counts.archived + counts.partial + counts.failed
  const part = (count: number) => (crawl.pages === 0 ? 0 : count)
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
<p class="progress"><b>${done.toLocaleString('en')}</b> of ${crawl.pages.toLocaleString('en')} pages done${
      counts.queued + counts.started > 0
        ? ` · ${counts.started.toLocaleString('en')} in work, ${counts.queued.toLocaleString('en')} waiting`
        : ''
    }${counts.paused > 0 ? ` · ${counts.paused.toLocaleString('en')} paused` : ''}</p>
<svg class="meter" viewBox="0 0 ${Math.max(crawl.pages, 1)} 1" preserveAspectRatio="none" role="img" aria-label="${done} of ${crawl.pages} pages done">
<rect class="archived" width="${part(counts.archived)}" height="1"/><rect class="partial" x="${counts.archived}" width="${part(counts.partial)}" height="1"/>
<rect class="failed" x="${counts.archived + counts.partial}" width="${part(counts.failed)}" height="1"/></svg>
${counts.failed + counts.partial > 0 ? html`<p class="dim">Try again what failed: <code>archivebox-ts crawl retry --failed ${crawl.id}</code></p>` : ''}
${crawl.message && html`<p class="cause failed">${foreign(crawl.message)}</p>`}
</header>
${pageList({ index, total: done })}
${data({
  top: index.top,
  chunks: index.chunks,
  crawl: crawl.id,
  total: done,
  live: status === 'queued' || status === 'started',
  writtenAt: crawl.writtenAt.getTime(),
})}`,
  })
}
