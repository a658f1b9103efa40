import { workOf } from '../../app/status/work.ts'
import { duration, many, number } from '../../base/words.ts'
import { FAILURES_LOOKED_AT, type FailureGroup, failureGroups } from '../../db/failures.ts'
import { inOneMoment } from '../../db/lists/by-index.ts'
import type { PageInWork } from '../../db/pages-in-work.ts'
import { crawlHead } from '../../pages/crawl-page.ts'
import { foreign, type Html, html } from '../../pages/html.ts'
import { live, page } from '../../pages/layout.ts'
import { type CrawlPage, readCrawlPage } from '../../pages/model/crawl.ts'
import { crawlName } from '../../pages/model/crawl-name.ts'
import type { App } from '../visit.ts'
import type { Web } from '../web.ts'
import { tallyOf } from './archive.ts'
import { askedList } from './asked.ts'
import { noRow, oneRow } from './one-row.ts'
import { listOfPages, readPart } from './page-list.ts'
import { served } from './place.ts'

/** How many groups of failures are shown at once; the others open by a click. */
const GROUPS_SHOWN = 5
const MOST_GROUPS = 20

/** One crawl: its state, its work, its failures and their causes, and its pages. */
export function routeCrawl(app: App, web: Web): void {
  const { home } = web.archive
  app.get('/crawls/:id', async (c) => {
    const id = await oneRow(c, web, 'crawls')
    if (typeof id !== 'string') return id
    const asked = askedList(`/crawls/${id}`, new URL(c.req.url).searchParams)
    const { part, crawl, work, groups } = await inOneMoment(home.db, async (db) => {
      const here = { ...home, db }
      const crawl = await readCrawlPage(here, id)
      const isOver = crawl === undefined || crawl.status === 'sealed'
      return {
        crawl,
        part: await readPart(here, asked, { crawlId: id }),
        work: isOver ? undefined : await workOf(here, id, 1),
        groups: await failureGroups(db, { crawlId: id }),
      }
    })
    if (crawl === undefined) return noRow(c, 'crawls', id)
    const place = served(web, c.get('session'))
    const body = html`${crawlHead({ ...crawl, wacz: undefined }, place, { pace: work?.crawls[0]?.pages_per_second })}
${replay(crawl)}${inWork(crawl, work?.pages ?? [])}
${failures(crawl, groups)}
<main id="main" tabindex="-1">
<h2 class="hidden">Pages</h2>
${listOfPages(web, c.get('session'), asked, part, tallyOf(crawl))}
</main>`
    const topics = `crawl:${id} processes`
    return c.html(page({ title: crawlName(crawl), kind: 'crawl', topics, body }, place), part.problem ? 400 : 200)
  })
}

/** Its file for other programs is on the disk: only files of pages are served. */
function replay({ wacz, folder }: CrawlPage): Html {
  return wacz === undefined
    ? html``
    : html`<p class="dim">All of it in one file, for ReplayWeb.page: <code>${folder}/${wacz}</code></p>\n`
}

function inWork({ status, counts }: CrawlPage, pages: readonly PageInWork[]): Html {
  if (status === 'sealed') return html``
  const line = ({ snapshot_id: id, url, seconds, hooks }: PageInWork) => html`<li>
<a href="/snapshots/${id}">${foreign(url)}</a> <span class="dim">${hooksAtWork(hooks) ?? 'between two hooks'} ·
${duration(seconds)}</span></li>
`
  const idle =
    status === 'paused'
      ? html`It is paused: <code>archivebox-ts crawl resume</code> resumes it.`
      : counts.started + counts.queued === 0 && status === 'started'
        ? html`Its pages are done; it is about to be sealed.`
        : html`Nobody works on it at this moment. <a href="/live">What happens now</a> tells why.`
  return html`<section class="work"${live({ isLive: true }, 'work')} aria-labelledby="work-name">
<h2 id="work-name">In work</h2>
${pages.length === 0 ? html`<p class="dim">${idle}</p>` : html`<ul>${pages.map(line)}</ul>`}
</section>`
}

/** `screenshot (3 s), pdf (1 s)`; undefined: none runs. */
export function hooksAtWork(hooks: PageInWork['hooks']): Html | undefined {
  if (hooks.length === 0) return undefined
  return html`${hooks.map(({ plugin, seconds }, at) => html`${at > 0 ? ', ' : ''}${plugin} (${duration(seconds)})`)}`
}

/** What failed, by its cause, with the command that retries it. */
function failures({ id, counts }: CrawlPage, groups: readonly FailureGroup[]): Html {
  if (groups.length === 0) return html`<section id="failures" data-live hidden></section>`
  const seen = groups.reduce((sum, { pages }) => sum + pages, 0)
  const total = counts.failed + counts.partial
  const pageLink = (page: string, at: number) => html`<a href="/snapshots/${page}">page ${at + 1}</a> `
  const line = ({ cause, host, pages, partial, snapshot_ids: ids }: FailureGroup) => {
    const word = partial === pages ? 'partial' : 'failed'
    const query = String(new URLSearchParams({ outcome: word, ...(host !== '' && { host }) }))
    return html`<li class="${word}"><a href="/crawls/${id}?${query}"><b>${number(pages)}</b>
<span>${foreign(cause)}${host && html` <small>${foreign(host)}</small>`}</span></a>
<span class="dim">${ids.slice(0, 3).map(pageLink)}</span></li>
`
  }
  const rest = groups.slice(GROUPS_SHOWN, MOST_GROUPS)
  return html`<section class="failures" id="failures" data-live aria-labelledby="failures-name">
<h2 id="failures-name">What failed, by cause</h2>
<ul>${groups.slice(0, GROUPS_SHOWN).map(line)}</ul>
${
  rest.length > 0
    ? html`<details><summary>${many(groups.length - GROUPS_SHOWN, 'more cause')}</summary><ul>${rest.map(line)}</ul>
${groups.length > MOST_GROUPS ? html`<p class="dim">and others, with fewer pages each</p>` : ''}</details>`
    : ''
}
${seen >= FAILURES_LOOKED_AT && seen < total ? html`<p class="dim">Of the last ${number(seen)} failures.</p>` : ''}
</section>`
}
