import { createHash } from 'node:crypto'
import { shellWord } from '../../base/words.ts'
import { copyNearest } from '../../db/archived-pages.ts'
import { foreign, html } from '../../pages/html.ts'
import type { App } from '../visit.ts'
import type { Web } from '../web.ts'
import { board } from './frame.ts'

/** `/web/URL` leads to the newest copy of a URL, `/web/DATE/URL` to the one nearest to a date. */
export function routeCopiesOfUrl(app: App, web: Web): void {
  app.get('/web/*', async (c) => {
    const { pathname, search } = new URL(c.req.url)
    const [date, rest] = datedPath(pathname.slice('/web/'.length))
    const asked = `${rest}${search}`
    const time = date ?? { from: new Date(8.64e15), until: new Date(8.64e15) }
    const urls = urlsMeant(asked)
    for (const url of urls) {
      const hash = createHash('sha256').update(url).digest('hex')
      const id = await copyNearest(web.archive.home.db, hash, inRange(time))
      if (id !== undefined) return c.redirect(`/snapshots/${id}`, 302)
    }
    const url = urls[0] ?? asked
    const body = html`<h1>There is no copy of this page</h1>
<p>${foreign(url)}</p>
${
  /^https?:/i.test(url)
    ? html`<p>To archive it: <code>archivebox-ts add ${shellWord(url)}</code></p>
<p><a href="/?${String(new URLSearchParams({ host: URL.parse(url)?.host ?? url }))}">Pages of this host</a></p>`
    : html`<p>An address looks like <code>/web/https://example.com/</code> or
<code>/web/20260131/https://example.com/</code>.</p>`
}`
    return c.html(board('/', 'No copy', body), 404)
  })
}

/** Beginning and end of a date: a year, a month, a second. */
interface Period {
  readonly from: Date
  readonly until: Date
}

/** Within the range of PostgreSQL's timestamps. */
function inRange({ from, until }: Period): Period {
  const most = Date.UTC(9999, 11, 31)
  const within = (date: Date) => new Date(Math.min(date.getTime(), most))
  return { from: within(from), until: within(until) }
}

const DIGITS = /^(\d{4}(?:\d{2}){0,5})(?:[a-z]{2}_)?$/
const ISO = /^\d{4}-\d{2}(?:-\d{2}(?:T\d{2}(?::|%3A)\d{2}(?:(?::|%3A)\d{2}(?:\.\d+)?)?Z?)?)?$/i

/** The date at the beginning of a path, and the rest of it. */
export function datedPath(path: string): readonly [date: Period | undefined, rest: string] {
  const slash = path.indexOf('/')
  const first = slash === -1 ? '' : path.slice(0, slash)
  const digits = DIGITS.exec(first)?.[1] ?? (ISO.test(first) ? first.replace(/%3A/gi, '').replace(/\.\d+|\D/g, '') : '')
  const date = digits === '' ? undefined : periodOf(digits)
  return date === undefined ? [undefined, path] : [date, path.slice(slash + 1)]
}

/** The time in digits: YYYY, YYYYMM, and so on to YYYYMMDDhhmmss, in UTC. Undefined: there is no such time. */
function periodOf(digits: string): Period | undefined {
  const parts = [digits.slice(0, 4), ...(digits.slice(4).match(/\d{2}/g) ?? [])].map(Number)
  const at = (numbers: readonly number[]) => {
    const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = numbers
    return new Date(Date.UTC(year, month - 1, day, hour, minute, second))
  }
  const from = at(parts)
  const isReal = [...from.toISOString().matchAll(/\d+/g)]
    .slice(0, parts.length)
    .every(([n], i) => Number(n) === parts[i])
  const next = parts.with(-1, parts.at(-1)! + 1)
  return isReal ? { from, until: new Date(at(next).getTime() - 1) } : undefined
}

/** The URLs that may be meant, the likeliest first: people omit the scheme, and proxies one of two slashes. */
export function urlsMeant(text: string): string[] {
  const whole = text.replace(/^(https?):\/(?!\/)/i, '$1://')
  const guesses =
    /^[a-z][a-z0-9+.-]*:/i.test(whole) && !/^[^/?#]*\.[^/?#]*:\d/.test(whole)
      ? [whole]
      : [`https://${whole}`, `http://${whole}`]
  return [...new Set(guesses.flatMap((url) => [url, URL.parse(url)?.href ?? url]))].filter((url) => url !== '')
}
