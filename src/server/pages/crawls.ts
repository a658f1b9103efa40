import { listRows } from '../../app/lists.ts'
import { cursorOf, placeOf } from '../../app/records/cursors.ts'
import { UsageError } from '../../base/errors.ts'
import { CRAWLS, type ListedCrawl } from '../../db/lists/listings.ts'
import { crawlCard } from '../../pages/archive-page.ts'
import { foreign, html } from '../../pages/html.ts'
import { page } from '../../pages/layout.ts'
import type { ArchiveCrawl } from '../../pages/model/archive.ts'
import type { App } from '../visit.ts'
import type { Web } from '../web.ts'
import { served } from './place.ts'

const AT_ONCE = 60
/** How many of its URLs are read to name a crawl. */
const URLS_NAMED = 50

/** All crawls, newest first. */
export function routeCrawls(app: App, web: Web): void {
  app.get('/crawls', async (c) => {
    const below = c.req.query('below')
    const place = served(web, c.get('session'))
    const crawls: ListedCrawl[] = []
    let problem: string | undefined
    try {
      const last = below ? { last: placeOf(below) } : {}
      for await (const rows of listRows(web.archive, CRAWLS, { limit: AT_ONCE + 1, ...last })) crawls.push(...rows)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      problem = error.message
    }
    const shown = crawls.slice(0, AT_ONCE)
    const cards = shown.map((row) => crawlCard(cardOf(row), place))
    const older = crawls.length > AT_ONCE ? `/crawls?below=${cursorOf(shown.at(-1)!)}` : undefined
    const body = html`<header class="head">
<nav class="crumbs" aria-label="Where this is"><a href="/">Archive</a></nav>
<h1>Crawls</h1>
</header>
<main id="main" tabindex="-1">
${problem && html`<p class="cause failed" role="alert">${foreign(problem)}</p>`}
<div class="crawls" id="crawls"${below ? '' : html` data-live`}>
${shown.length === 0 ? html`<p class="found">There is no crawl.</p>` : html`<ul>${cards}</ul>`}
</div>
${
  below || older
    ? html`<nav class="pager" aria-label="Parts of the list">
${below && html`<a class="button" href="/crawls">⇤ Newest</a>`}
${older && html`<a class="button" rel="next" href="${older}">Older →</a>`}</nav>`
    : ''
}
</main>`
    return c.html(page({ title: 'Crawls', kind: 'archive', topics: 'archive', body }, place), problem ? 400 : 200)
  })
}

function cardOf(row: ListedCrawl): ArchiveCrawl {
  const { id, label, urls, urls_total: urlsTotal, status, created_at: createdAt, output_dir: folder } = row
  const { pages, sealed, counts } = row
  return {
    ...{ id, folder, label, urlsTotal, status, createdAt, pages, sealed },
    node: '', // A server has a page of each.
    urls: urls.split('\n', URLS_NAMED),
    firstTitle: null,
    partial: counts.partial,
    failed: counts.failed,
  }
}
