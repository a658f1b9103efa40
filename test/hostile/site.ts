import type { IncomingMessage, ServerResponse } from 'node:http'
import { hostileSite } from '../support/hostile-copies.ts'
import { HOSTILE_NAMES, namesSite } from '../support/hostile-names.ts'
import { hostilePages } from '../support/hostile-pages.ts'
import { bytes, type Routes } from '../support/site.ts'
import type { Chance } from './chance.ts'

const TYPES =
  'text/html text/plain text/css application/json application/pdf application/rss+xml image/svg+xml image/png ' +
  'application/xhtml+xml application/octet-stream text/csv application/jsonl constructor'
const MOST_BYTES = 200_000

/** A site from a seed: files and pages of names that mean something elsewhere, and pages that are hard to read. */
export function siteBy(chance: Chance): Routes {
  const names = chance.some(HOSTILE_NAMES, 6).concat(chance.name(), chance.name())
  const routes = namesSite(names)
  const links = [String(routes['/'])]
  const made: Record<string, Routes[string]> = {}
  for (let number = 0; number < 10; number += 1) {
    const path = `/made/${number}`
    const type = `${chance.of(TYPES.split(' '))}${chance.onceIn(3) ? `; charset=${headerText(chance.text(40))}` : ''}`
    const body = chance.onceIn(2) ? pageBy(chance) : chance.text(MOST_BYTES)
    const disposition = chance.onceIn(3) ? { 'content-disposition': headerText(`attachment; ${chance.text(200)}`) } : {}
    const cookie = chance.onceIn(4) ? { 'set-cookie': headerText(chance.text(300)) } : {}
    made[path] = bytes(type, Buffer.from(body), { ...disposition, ...cookie })
    links.push(`<a href="${path}">${path}</a>`)
  }
  if (chance.onceIn(2)) made['/robots.txt'] = bytes('text/plain', `User-agent: *\nDisallow: /no${chance.text(10_000)}`)
  const hard = chance.some(Object.keys(hostilePages), 2)
  links.push(...hard.map((path) => `<a href="${path}">${path}</a>`))
  for (const name of chance.some(Object.keys(hostileSite('').pages), 3)) {
    made[`/copied/${name}`] = ({ headers }, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end(hostileSite(headers.host ?? '').pages[name])
    links.push(`<a href="/copied/${name}">${name}</a>`)
  }
  for (const path of Object.keys(hostileSite('').files))
    made[path] = ({ headers }, response) => response.end(hostileSite(headers.host ?? '').files[path])
  return { ...hostilePages, ...routes, ...made, '/hangs': slow, '/': links.join('\n') }
}

/** A page with such pieces in all of its parts. */
function pageBy(chance: Chance): string {
  const text = () => chance.text(chance.onceIn(5) ? MOST_BYTES / 4 : 200)
  const base = chance.onceIn(3) ? text() : '/'
  return `<!doctype html><html lang="${text()}"><head><title>${text()}</title><base href="${base}">
<meta name="${text()}" content="${text()}"><link rel="icon" href="${text()}" sizes="${text()}">
<script type="application/ld+json">${text()}</script><style>${text()}</style></head>
<body>${text()}<a href="${text()}">${text()}</a><svg><title>${text()}</title></svg><pre>${text()}</pre><table>${text()}
</table><template shadowrootmode="open">${text()}</template>${text()}</body></html>`
}

/** What Node sends in any header: of a Content-Disposition beside a Content-Length it reads Latin-1 as UTF-8. */
const headerText = (text: string): string => text.replace(/[^\t\u0020-\u007e]/g, '?').slice(0, 4_000)

/** Ends by itself, as no page waits for it for ever. */
function slow(_request: IncomingMessage, response: ServerResponse): void {
  setTimeout(() => response.end('late'), 3_000).unref()
}
