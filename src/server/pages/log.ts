import { attemptName, HOSTED_LOG } from '../../base/attempt-paths.ts'
import { legible } from '../../base/clean.ts'
import { endsIn } from '../../base/row-log.ts'
import { sizeText } from '../../base/words.ts'
import { foreign, html } from '../../pages/html.ts'
import { page } from '../../pages/layout.ts'
import type { OpenFile } from '../content/open-inside.ts'
import type { App } from '../visit.ts'
import type { Web } from '../web.ts'
import { noRow, oneRow } from './one-row.ts'
import { openBelow } from './open-below.ts'
import { served } from './place.ts'
import { readSnapshot } from './read-snapshot.ts'
import { troublePage } from './trouble.ts'

/** How much of the end of a log is shown. */
const MOST_BYTES = 1_000_000
/** The hooks of a page that run in one process share a log: how much of its end is searched. */
const MOST_BYTES_OF_ALL = 16_000_000

/** The output of a hook, as text. */
export function routeLog(app: App, web: Web): void {
  app.get('/snapshots/:id/log', async (c) => {
    const id = await oneRow(c, web, 'snapshots')
    if (typeof id !== 'string') return id
    const read = await readSnapshot(web, id)
    if (read === undefined) return noRow(c, 'snapshots', id)
    const { hook = '', of = '' } = c.req.query()
    const isAsked = (result: { plugin: string; hookName: string; attempt: number }) =>
      attemptName(result.plugin, result.hookName, result.attempt) === hook
    const result = read.snapshot.results.find(isAsked)
    const path = result && Object.entries(result.logs).find(([name]) => name === of)?.[1]
    const { dataDir } = web.archive.home
    const log = path === undefined ? undefined : await readLog(dataDir, read.snapshot.folder, path, hook)
    if (!result || log === undefined) return c.html(troublePage('There is no such log', `${hook} ${of}`), 404)
    const { text, size } = log
    const place = served(web, c.get('session'), id)
    const { title, url } = read.snapshot
    const cut = size > MOST_BYTES ? `: the last ${sizeText(MOST_BYTES)}` : ''
    const body = html`<header class="head">
<nav class="crumbs" aria-label="Where this is"><a href="/">Archive</a> <a href="/snapshots/${id}">Page</a></nav>
<h1>${result.plugin}: ${of}</h1>
<p class="dim">${foreign(title || url)} · ${result.hookName} · attempt ${result.attempt} ·
<span class="${result.status}">${result.status}</span> · ${sizeText(size)}${cut}</p>
</header>
<main id="main" tabindex="-1">
<pre class="log" id="log" data-live tabindex="0" aria-label="Output">${legible(text)}</pre>
</main>`
    return c.html(page({ title: `${result.plugin}: ${of}`, kind: 'board', topics: `page:${id}`, body }, place))
  })
}

interface LogText {
  readonly text: string
  /** The size of all of it, in bytes. */
  readonly size: number
}

/**
 * The end of a log; undefined: it is none, or no longer exists. Follows no link on the way.
 * @param path relative to the folder, as the page names it
 */
async function readLog(dataDir: string, folder: string, path: string, attempt: string): Promise<LogText | undefined> {
  const opened = await openBelow(dataDir, folder, path)
  if (opened === undefined) return undefined
  try {
    if (path !== HOSTED_LOG) return await endOf(opened, MOST_BYTES)
    const { text: all } = await endOf(opened, MOST_BYTES_OF_ALL)
    const text = endsIn(all.split('\n')).get(attempt)?.stdout
    return text === undefined ? undefined : { text: text.slice(-MOST_BYTES), size: Buffer.byteLength(text) }
  } finally {
    await opened.handle.close()
  }
}

async function endOf({ handle, stats: { size } }: OpenFile, most: number): Promise<LogText> {
  const bytes = Buffer.alloc(Math.min(size, most))
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, size - bytes.length)
  return { text: bytes.subarray(0, bytesRead).toString('utf8'), size }
}
