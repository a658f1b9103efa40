import { isVisible, many, sizeText, tookText } from '../base/words.ts'
import type { ResultStatus } from '../db/tables.ts'
import { hookTable } from './hook-table.ts'
import { foreign, type Html, html } from './html.ts'
import { live, main, outcomeBadge, page, time } from './layout.ts'
import { bestOf } from './model/outputs.ts'
import type { SnapshotPage } from './model/snapshot.ts'
import type { Place, ShownOutput } from './place.ts'
import { strip } from './strip.ts'

/** Additional parts from whoever shows it. */
export interface Around {
  /** The plugin whose copy is shown large; by default the best one. */
  readonly chosen?: string | undefined
  /** Links to its copies at other times. */
  readonly dates?: Html
  /** Its state, above the copies. */
  readonly notice?: Html
  /** Below the copy. */
  readonly caption?: Html
  /** All copies of its URL, among its details. */
  readonly timeline?: Html
  /** At the end of its details. */
  readonly details?: Html
}

/**
 * The page of one snapshot: the copy first and large, the others to choose from above it, its details below. Without a
 * script the choice opens in the same frame.
 */
export function snapshotPage(snapshot: SnapshotPage, place: Place, around: Around = {}): string {
  const { url, title, results } = snapshot
  const outputs = snapshot.outputs.map(place.shown)
  const name = title !== null && isVisible(title) ? title : url
  const best = outputs.find(({ plugin }) => plugin === around.chosen) ?? bestOf(outputs)
  const crawl = place.crawl(snapshot.crawl)
  const icon = outputs.find(({ isIcon, shown }) => isIcon && shown === 'image')
  const body = html`<header class="bar"${live(place, 'bar')}>
<nav class="crumbs" aria-label="Where this is"><a href="${place.archive}">Archive</a>
${crawl && html`<a href="${crawl}">Crawl</a>`}</nav>
<div class="what">${icon && html`<img class="icon" src="${icon.href}" alt="">`}<h1>${foreign(name)}</h1>
<p class="url">${original(url)}</p></div>
<div class="verdict">${outcomeBadge(snapshot.outcome)}${statusBadge(snapshot.httpStatus)}</div>
${
  around.dates ??
  html`<nav class="dates" id="copies" aria-label="Copies of this page"><b>${time(snapshot.sealedAt)}</b></nav>`
}
<a class="button" href="#details">Details</a>
</header>
${around.notice}${snapshot.cause && verdict(snapshot.cause, snapshot)}
${outputs.length > 0 ? strip(outputs, best, results, place) : ''}
${main(place)}
${best ? frame(best, place) : html`<p class="nothing">${nothing(snapshot)}</p>`}
${around.caption}<section id="details" aria-label="Details" tabindex="-1">
<h2>Details</h2>
${facts(snapshot, outputs)}
${around.timeline}<h2>Hooks</h2>
${hookTable(results, place)}
${
  outputs.length > 0
    ? html`<h2 id="files">Files</h2>
<ul class="files">${outputs.map((output) => fileLine(output, place))}${recordsLine(place)}</ul>`
    : ''
}
${around.details}</section>
</main>
${outputs.map(packedCopy)}`
  const script = snapshot.isCopied ? place.copies(snapshot.urlHash) : undefined
  const scripts = script === undefined ? [] : [script]
  const topics = place.isLive && `page:${snapshot.id}`
  return page({ title: name, kind: 'snapshot', showsCopies: true, body, scripts, ...(topics && { topics }) }, place)
}

function original(url: string): Html {
  return /^(?:https?|ftp):/i.test(url) ? html`<a href="${url}" rel="noreferrer">${foreign(url)}</a>` : foreign(url)
}

function statusBadge(status: number | null): Html {
  return status === null ? html`` : html`<span class="badge http">HTTP ${status}</span>`
}

/** What must be known at once: why it is incomplete, and what to do about it. */
function verdict(cause: string, { outcome, id }: SnapshotPage): Html {
  return html`<p class="cause ${outcome}" role="status"><b>${foreign(cause)}</b>
<span>Try again: <code>archivebox-ts snapshot retry --failed ${id}</code></span></p>`
}

function nothing({ outcome, results }: SnapshotPage): string {
  if (outcome === null) return 'This page is only listed: nothing of it was archived yet.'
  const empty = results.some(({ status, output }) => isEmpty(status, output))
  return empty ? 'The server sent an empty page.' : 'No copy of this page is here.'
}

const isEmpty = (status: ResultStatus, output: string) => status === 'noresults' && output.startsWith('an empty answer')

/** The text of a copy, for the script to unpack. */
function packedCopy({ href, packed, shown }: ShownOutput): Html {
  return packed === undefined
    ? html``
    : html`<script type="text/plain" data-packed="${href}" data-as="${shown}">${packed}</script>
`
}

/**
 * Nothing in the copy is run, sent or opened. Its origin is kept, for without it a file may not load the pictures and
 * styles beside it. A PDF needs the browser's own viewer, which no sandbox allows: the script opens it, or what comes
 * next.
 */
function frame({ plugin, group, path, href, shown, packed, size }: ShownOutput, place: Place): Html {
  if (shown === 'file')
    return html`<p class="nothing"><a class="button" href="${href}" download>${path}</a> ${sizeText(size)}</p>`
  // In a frame an SVG would be a document.
  if (shown === 'image')
    return html`<div class="copy image" id="copy"${live(place)}><img src="${href}" alt="${plugin} of the page"></div>`
  if (shown === 'video')
    return html`<div class="copy video" id="copy"${live(place)}><video src="${href}" controls></video></div>`
  if (shown === 'audio')
    return html`<div class="copy audio" id="copy"${live(place)}><audio src="${href}" controls></audio></div>`
  const sandboxed = html`sandbox="${place.sandbox}"${packed ? '' : html` src="${href}"`}`
  // Of the parts that the page has: on disk only the script knows whether there is a viewer.
  const pdf = place.choice ? html`src="${href}"` : ''
  return html`<div class="copy${group === 'text' ? ' reading' : ''}" id="copy"${live(place)}>
<iframe name="copy" title="The copy: ${plugin}" referrerpolicy="no-referrer"
${shown === 'pdf' ? pdf : sandboxed}></iframe></div>${
    packed &&
    html`<noscript><p class="nothing">Without scripts a copy cannot be kept from loading what it names.
<a href="${href}">Open it as it is</a></p></noscript>`
  }`
}

function facts(snapshot: SnapshotPage, outputs: readonly ShownOutput[]): Html {
  const { id, sealedAt, depth, tags, notes, bookmarkedAt, results, httpStatus, outcome, cause, url } = snapshot
  // A retry a day later does not mean that it took a day.
  const last = Math.max(...results.map(({ attempt }) => attempt))
  const latest = results.filter(({ attempt }) => attempt === last)
  const starts = latest.flatMap(({ startedAt }) => (startedAt ? [startedAt.getTime()] : []))
  const ends = latest.flatMap(({ endedAt }) => (endedAt ? [endedAt.getTime()] : []))
  const seconds = starts.length > 0 && ends.length > 0 ? (Math.max(...ends) - Math.min(...starts)) / 1000 : null
  const fact = (name: string, value: Html | string | null) =>
    value === null || value === '' ? '' : html`<dt>${name}</dt><dd>${value}</dd>`
  return html`<dl class="facts">
${fact('Outcome', outcome && html`${outcomeBadge(outcome)} ${cause ? foreign(cause) : ''}`)}
${fact('Answer', httpStatus === null ? null : `HTTP ${httpStatus}`)}
${fact('URL', original(url))}
${fact(outcome === null ? 'Listed' : outcome === 'failed' ? 'Tried' : 'Archived', time(sealedAt))}
${fact('It took', seconds === null ? null : tookText(seconds))}
${fact('Size', sizeText(snapshot.bytesAway ?? outputs.reduce((sum, { size }) => sum + size, 0)))}
${fact('Links followed', depth > 0 ? String(depth) : null)}
${fact('Id', html`<code>${id}</code>`)}
${fact('Tags', tags.length > 0 ? html`${tags.map((tag) => html`<span class="chip">${foreign(tag)}</span> `)}` : null)}
${fact('Bookmarked', bookmarkedAt && time(bookmarkedAt))}
${fact('Notes', notes && foreign(notes))}
</dl>`
}

const recordsLine = ({ records }: Place) =>
  records && html`<li><a href="${records}">index.jsonl</a> all of this as records</li>`

function fileLine({ plugin, path, href, shown, files, size }: ShownOutput, place: Place): Html {
  // With a script it is shown above, like all copies; opened directly it is what was served.
  const folder = place.folder(plugin)
  const all = many(files, 'file')
  const others = files > 1 ? html` in ${folder === undefined ? all : html`<a href="${folder}">${all}</a>`}` : ''
  const link = html`<a href="${href}" data-shown="${shown}" data-name="${plugin}">${foreign(path)}</a>`
  return html`<li>${link} ${sizeText(size)}${others}</li>
`
}
