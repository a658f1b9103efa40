import { many, sizeText } from '../../base/words.ts'
import { allPages, type CountedPages } from '../../db/counts.ts'
import { latestCrawls } from '../../db/crawl-summaries.ts'
import { inOneMoment } from '../../db/lists/by-index.ts'
import { crawlCard } from '../../pages/archive-page.ts'
import { type Html, html } from '../../pages/html.ts'
import { page } from '../../pages/layout.ts'
import type { App } from '../visit.ts'
import type { Web } from '../web.ts'
import { askedList } from './asked.ts'
import { listOfPages, readPart, type Tally } from './page-list.ts'
import { served } from './place.ts'

/** How many crawls are shown above the list of pages. */
const CRAWLS = 3

/** What is archived: the latest crawls, and all pages, newest first. */
export function routeArchive(app: App, web: Web): void {
  const { home } = web.archive
  app.get('/', async (c) => {
    const asked = askedList('/', new URL(c.req.url).searchParams)
    const { part, pages, crawls, totals } = await inOneMoment(home.db, async (db) => ({
      part: await readPart({ ...home, db }, asked),
      pages: await allPages(db),
      ...(await latestCrawls(db, CRAWLS)),
    }))
    const place = served(web, c.get('session'))
    // Somebody who searches for pages wants to see them at once.
    const isNarrowed = Object.keys(asked.typed).length > 0 || asked.below !== undefined
    const more = totals.crawls - crawls.length
    const body = html`<header class="head">
<h1>Archive</h1>
<p class="dim" id="totals" data-live>${many(
      pages.pages,
      'page',
    )} · <a href="/crawls">${many(totals.crawls, 'crawl')}</a> · ${sizeText(totals.bytes)}</p>
${
  crawls.length === 0 || isNarrowed
    ? ''
    : html`<section class="crawls" id="crawls" data-live aria-label="The latest crawls">
<ul>${crawls.map((crawl) => crawlCard({ ...crawl, node: '' }, place))}</ul>
${more > 0 ? html`<p class="more"><a href="/crawls">${many(more, 'more crawl')}</a></p>` : ''}
</section>`
}
</header>
<main id="main" tabindex="-1">
${pages.pages === 0 ? nothingYet(crawls.length) : listOfPages(web, c.get('session'), asked, part, tallyOf(pages))}
</main>`
    return c.html(page({ title: 'Archive', kind: 'archive', topics: 'archive', body }, place), part.problem ? 400 : 200)
  })
}

/** How many of these pages each tab of a list has. */
export function tallyOf({ counts }: Pick<CountedPages, 'counts'>): Tally {
  const { archived, partial, failed, queued, paused } = counts
  return { archived, partial, failed, open: queued + paused }
}

/** What to do with an empty archive. */
function nothingYet(crawls: number): Html {
  return html`<section class="first" id="pages" data-live aria-labelledby="first">
<h2 id="first">${crawls === 0 ? 'Nothing is archived yet' : 'There is no page yet'}</h2>
<p>Add a page, in a terminal of this machine:</p>
<pre><code>archivebox-ts add https://example.com/</code></pre>
<p>A list of URLs, bookmarks or a feed goes in the same way:</p>
<pre><code>archivebox-ts add &lt; bookmarks.html</code></pre>
<p>Or see how it looks with a small site that is made for that:</p>
<pre><code>archivebox-ts add --run --demo</code></pre>
<p class="dim">Added pages appear here while they are archived.</p>
</section>`
}
