import { isPartOfId, matchingIds } from '../../app/ids.ts'
import { isUuid } from '../../base/ids.ts'
import { CRAWLS, listedByIds, SNAPSHOTS } from '../../db/lists/listings.ts'
import { foreign, html } from '../../pages/html.ts'
import { time } from '../../pages/layout.ts'
import type { Asked } from '../visit.ts'
import type { Web } from '../web.ts'
import { board } from './frame.ts'

const LISTINGS = { crawls: CRAWLS, snapshots: SNAPSHOTS } as const
const NOUNS = { crawls: 'crawl', snapshots: 'page' } as const

/**
 * The row that an address names, by its id, or by a beginning or end that no other id has; else the answer: a redirect,
 * the rows that may be meant, or that there is none.
 */
export async function oneRow(c: Asked, web: Web, kind: keyof typeof LISTINGS): Promise<string | Response> {
  const text = c.req.param('id') ?? ''
  if (isUuid(text)) return text.toLowerCase()
  const { home } = web.archive
  const ids = isPartOfId(text) ? await matchingIds(home, LISTINGS[kind].table, text) : []
  const [id, another] = ids
  if (id === undefined) return noRow(c, kind, text)
  if (another === undefined) {
    const { pathname, search } = new URL(c.req.url)
    // By its place: some letters of it may be written as %41.
    return c.redirect(pathname.split('/').with(2, id).join('/') + search, 302)
  }
  const rows = await rowsNamed(web, kind, ids)
  const body = html`<h1>${text} matches several ${NOUNS[kind]}s</h1>
<ul class="named">${rows.map(
    ({ id, name, at }) => html`<li><a href="/${kind}/${id}">${foreign(name)}</a>
<span class="dim"><code>${id}</code> ${time(at)}</span></li>
`,
  )}</ul>
<p class="dim">There may be more: add digits of the id.</p>`
  return c.html(board('/', `${text} matches several`, body), 300)
}

/** There is no such row. */
export function noRow(c: Asked, kind: keyof typeof LISTINGS, id: string): Response {
  const body = html`<h1>There is no ${NOUNS[kind]} ${foreign(id)}</h1>
<p>It may have been deleted. <a href="${kind === 'crawls' ? '/crawls' : '/'}">See the others.</a></p>`
  return c.html(board('/', `No ${NOUNS[kind]} ${id}`, body), 404)
}

async function rowsNamed(web: Web, kind: keyof typeof LISTINGS, ids: readonly string[]) {
  const { db } = web.archive.home
  if (kind === 'crawls')
    return (await listedByIds(db, CRAWLS, ids)).map(({ id, label, urls, created_at: at }) => ({
      ...{ id, at },
      name: label || urls.split('\n', 1)[0]!,
    }))
  return (await listedByIds(db, SNAPSHOTS, ids)).map(({ id, title, url, created_at: at }) => ({
    ...{ id, at },
    name: title || url,
  }))
}
