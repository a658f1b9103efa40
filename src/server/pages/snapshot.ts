import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PUBLISHED } from '../../app/replay/published.ts'
import { leadsOut } from '../../base/leads-out.ts'
import { many, number, shellWord, sizeText } from '../../base/words.ts'
import type { Home } from '../../db/home.ts'
import type { NamedNode } from '../../db/nodes.ts'
import { foreign, type Html, html } from '../../pages/html.ts'
import { time } from '../../pages/layout.ts'
import { bestOf, type Output } from '../../pages/model/outputs.ts'
import type { SnapshotPage } from '../../pages/model/snapshot.ts'
import { snapshotPage } from '../../pages/snapshot-page.ts'
import type { Session } from '../access/sessions.ts'
import { isRecord, recordOf, replayAddress } from '../content/replay/availability.ts'
import type { App } from '../visit.ts'
import type { Web } from '../web.ts'
import { hooksAtWork } from './crawl.ts'
import { type Hashes, hashesOf } from './hashes.ts'
import { noRow, oneRow } from './one-row.ts'
import { served } from './place.ts'
import { MOST_COPIES, type ReadSnapshot, readSnapshot } from './read-snapshot.ts'
import { datesNav, inTime, timeline } from './timeline.ts'

/** How many files are named; a mirror of a site may have thousands. */
const MOST_FILES = 300

/** One page: a large copy; the other ones, its copies at other times, and what is known of it. */
export function routeSnapshot(app: App, web: Web): void {
  const { home } = web.archive
  app.get('/snapshots', (c) => c.redirect('/', 302))
  app.get('/snapshots/:id', async (c) => {
    const id = await oneRow(c, web, 'snapshots')
    if (typeof id !== 'string') return id
    const read = await readSnapshot(web, id)
    if (read === undefined) return noRow(c, 'snapshots', id)
    const { row, snapshot, copies } = read
    const place = served(web, c.get('session'), id)
    const isHere = ({ path }: Output) => existsSync(join(home.dataDir, snapshot.folder, path))
    const gone = snapshot.outputs.filter((output) => !isHere(output))
    const shown = { ...snapshot, outputs: snapshot.outputs.filter(isHere) }
    const all = inTime(copies, { id, outcome: row.outcome, at: row.status_changed_at })
    const chosen = c.req.query('copy')
    const unread = read.away ? onNode(read.away, id) : gone.length > 0 ? lost(home, read, gone) : ''
    const around = {
      chosen,
      dates: datesNav(all, id),
      notice: html`${standing(read)}${unread}`,
      caption: caption(shown, chosen, (path) => place.file(path), {
        choice: place.choice!,
        replay: replayLine(web, c.get('session'), snapshot),
      }),
      timeline: timeline(all, id, copies.length < MOST_COPIES),
      details: html`${more(read)}${files(snapshot, await hashesOf(home, snapshot))}`,
    }
    return c.html(snapshotPage(shown, place, around))
  })
}

/** The state of an unfinished page. */
function standing({ row, snapshot, work }: ReadSnapshot): Html {
  const said = (words: Html) =>
    html`<p class="cause open" id="standing" role="status" data-live><b>${words}</b>
<span>${snapshot.outputs.length > 0 ? 'The results so far are shown.' : ''}</span></p>
`
  if (row.status === 'queued' && !work) {
    const again = row.retry_at !== null && row.retry_at.getTime() > Date.now() + 1_000 ? row.retry_at : undefined
    return said(again ? html`It is retried at ${time(again)}` : html`It waits to be archived`)
  }
  if (row.status === 'paused')
    return said(html`It is paused. <code>archivebox-ts snapshot resume ${row.id}</code> resumes it.`)
  if (row.status === 'sealed') return html`<p id="standing" data-live hidden></p>\n`
  const hooks = work && hooksAtWork(work.hooks)
  if (hooks) return said(html`It is being archived: ${hooks}`)
  return said(work ? html`It is being archived` : html`It was begun, but nobody works on it at this moment`)
}

/** Why files in rows are not here. */
function lost(home: Home, { snapshot }: ReadSnapshot, gone: readonly Output[]): Html {
  const isFolder = !existsSync(join(home.dataDir, snapshot.folder))
  const names = gone.slice(0, 5).map(({ path }) => path)
  const rest = gone.length > names.length ? ` and ${gone.length - names.length} more` : ''
  const few = gone.length === 1 ? 'A copy of it is gone' : `${gone.length} copies of it are gone`
  const what = isFolder ? 'Its files are not here' : few
  return html`<p class="cause failed" role="status"><b>${what}${
    isFolder ? html`: <code>${snapshot.folder}</code>` : html`: ${foreign(names.join(', ') + rest)}`
  }</b>
<span><code>archivebox-ts verify</code> reports what else is missing.</span></p>
`
}

/** Where its files are, if not here. */
function onNode(node: NamedNode, id: string): Html {
  const { name, data_dir: dataDir, state } = node
  const isThere = state === 'active' || state === 'draining'
  return html`<p class="cause ${isThere ? 'open' : 'failed'}" role="status"><b>Its files are on node ${foreign(name)}${
    dataDir && html`: <code>${dataDir}</code>`
  }</b>
<span>${isThere ? html`A server there shows them: <code>archivebox-ts server</code>` : whatNow(node, id)}</span></p>
`
}

/** How to see the files of a node that does not work. */
function whatNow({ name, state }: NamedNode, id: string): Html {
  if (state === 'forgotten')
    return html`That node was forgotten. <code>archivebox-ts snapshot retry ${id}</code> archives the page again.`
  return html`That node is lost. If it does not come back, <code>archivebox-ts node forget ${shellWord(name)}</code>
tells how to archive them again.`
}

/** Which copy is shown, and other ways to see it. */
function caption(
  { outputs }: SnapshotPage,
  chosen: string | undefined,
  file: (path: string) => string,
  { choice, replay }: { choice: (output: Output) => string; replay: Html },
): Html {
  const best = outputs.find(({ plugin }) => plugin === chosen) ?? bestOf(outputs)
  const alone = html`<p class="about" id="about" data-live>${replay}</p>\n`
  if (best === undefined) return replay.text === '' ? replay : alone
  const reader = outputs.find(({ group, shown }) => group === 'text' && shown === 'html')
  const isReading = best.group === 'text'
  const whole = bestOf(outputs)
  return html`<p class="about" id="about" data-live><b>${best.plugin}</b> ${sizeText(best.size)}
${reader && !isReading ? html`<a href="${choice(reader)}">Reader view</a>` : ''}
${isReading && whole && whole !== best ? html`<a href="${choice(whole)}">As it looked</a>` : ''}
<a href="${file(best.path)}" target="_blank" rel="noreferrer">Open in a new tab</a>
${replay}</p>
`
}

/** The link to the replay of its WARC or WACZ, or why there is none. */
function replayLine(web: Web, session: Session, { id, folder, results }: SnapshotPage): Html {
  const isHere = (path: string) => existsSync(join(web.archive.home.dataDir, folder, path))
  const all = results.flatMap(({ plugin, files }) => Object.keys(files).map((name) => `${plugin}/${name}`))
  const path = recordOf(all.filter((name) => isRecord(name) && !leadsOut(name) && isHere(name)))
  if (path === undefined) return html``
  const replay = replayAddress(web, session, id, path)
  if ('address' in replay)
    return html`<span><a href="${replay.address}" target="_blank" rel="noopener">Replay</a> by
<a href="${PUBLISHED.source}" rel="noreferrer">ReplayWeb.page</a></span>`
  return html`<span id="no-replay">${WHY_OFF[replay.off]}</span>`
}

const WHY_OFF = {
  'not installed': html`To replay it: <code>archivebox-ts plugin install replay</code>`,
  'one host': html`Replay is off: it needs a host for each copy, such as
<code>CONTENT_URL=https://*.copies.example.org</code>`,
  'no TLS': html`Replay is off: browsers require HTTPS for it, in <code>CONTENT_URL</code>`,
}

function more({ snapshot, moreResults }: ReadSnapshot): Html {
  return moreResults === 0
    ? html``
    : html`<p>And ${number(moreResults)} more attempts of hooks:
<code>archivebox-ts result list --snapshot-id ${snapshot.id}</code></p>
`
}

/** All its known files, with their hashes. */
function files({ results }: SnapshotPage, hashes: Hashes | undefined): Html {
  const all = results.flatMap(({ plugin, files }) =>
    Object.entries(files).map(([name, { size }]) => ({ path: `${plugin}/${name}`, size })),
  )
  if (all.length === 0) return html``
  const line = ({ path, size }: (typeof all)[number]) => {
    const hash = hashes?.files.get(path)
    return html`<li>${foreign(path)} ${sizeText(size)}${hash && html` <code>${hash}</code>`}</li>
`
  }
  const root = hashes?.root && html`<p class="dim">SHA-256 of all files together: <code>${hashes.root}</code></p>`
  const rest = all.length - MOST_FILES
  return html`<details class="hashes" id="all-files"><summary>${many(all.length, 'file')}${
    hashes ? ' with their hashes' : ''
  }</summary>
${root}<ul class="files">${all.slice(0, MOST_FILES).map(line)}
${rest > 0 ? html`<li>and ${number(rest)} more</li>` : ''}</ul>
</details>
`
}
