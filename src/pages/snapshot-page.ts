import { duration, isVisible, many, sizeText } from '../base/words.ts'
import type { Outcome, ResultStatus } from '../db/tables.ts'
import type { PageAssets } from './assets.ts'
import { hookTable, type SnapshotPageResult } from './hook-table.ts'
import { foreign, type Html, href, html, outcomeBadge, page, time } from './layout.ts'
import { bestOf, type Output } from './outputs.ts'
import { strip } from './strip.ts'

export interface SnapshotPage {
  readonly assets: PageAssets
  readonly id: string
  readonly url: string
  readonly title: string | null
  readonly outcome: Outcome | null
  readonly cause: string | null
  readonly httpStatus: number | null
  /** When it came to its end; of one that was only listed, when that was. */
  readonly sealedAt: Date
  readonly depth: number
  readonly tags: readonly string[]
  /** What whoever bookmarked it wrote about it, and when that was. */
  readonly notes: string | null
  readonly bookmarkedAt: Date | null
  /** Relative paths of the crawl's folder and the top of the archive. */
  readonly crawlPath: string
  readonly topPath: string
  /** The list of all copies of the URL, relative; when there are others. */
  readonly copiesPath: string | undefined
  /** What was made of it, the best first. */
  readonly outputs: readonly Output[]
  /** In the order of their hooks; attempts of one hook one after the other. */
  readonly results: readonly SnapshotPageResult[]
}

/**
 * The page of one snapshot: the copy first and large, the others to choose from above it, what is known of it below.
 * Without a script the choice opens in the same frame.
 */
export function snapshotPage(snapshot: SnapshotPage): string {
  const { url, title, results, outputs } = snapshot
  const name = title !== null && isVisible(title) ? title : url
  const best = bestOf(outputs)
  const icon = outputs.find(({ plugin, shown }) => plugin === 'favicon' && shown === 'image')
  return page({
    title: name,
    kind: 'snapshot',
    showsCopies: true,
    assets: snapshot.assets,
    top: snapshot.topPath,
    body: html`<header class="bar">
<nav class="crumbs" aria-label="Where this is"><a href="${href(snapshot.topPath)}/index.html">Archive</a>
<a href="${href(snapshot.crawlPath)}/index.html">Crawl</a></nav>
<div class="what">${icon && html`<img class="icon" src="${href(icon.path)}" alt="">`}<h1>${foreign(name)}</h1>
<p class="url">${original(url)}</p></div>
<div class="verdict">${outcomeBadge(snapshot.outcome)}${statusBadge(snapshot.httpStatus)}</div>
<nav class="dates" id="copies" aria-label="Copies of this page"><b>${time(snapshot.sealedAt)}</b></nav>
<a class="button" href="#details">Details</a>
</header>
${snapshot.cause && verdict(snapshot.cause, snapshot)}
${outputs.length > 0 ? strip(outputs, best, results) : ''}
<main>
${best ? frame(best) : html`<p class="nothing">${nothing(snapshot)}</p>`}
<section id="details" aria-label="Details" tabindex="-1">
<h2>Details</h2>
${facts(snapshot)}
<h2>Hooks</h2>
${hookTable(results)}
${
  outputs.length > 0
    ? html`<h2 id="files">Files</h2>
<ul class="files">${outputs.map(fileLine)}<li><a href="index.jsonl">index.jsonl</a> all of this as records</li></ul>`
    : ''
}
</section>
</main>
${outputs.map(packedCopy)}`,
    scripts: snapshot.copiesPath === undefined ? [] : [snapshot.copiesPath],
  })
}

function original(url: string): Html {
  return /^(?:https?|ftp):/i.test(url) ? html`<a href="${url}" rel="noreferrer">${foreign(url)}</a>` : foreign(url)
}

function statusBadge(status: number | null): Html {
  return status === null ? html`` : html`<span class="badge http">HTTP ${status}</span>`
}

/** What is to be known at once: why it is not whole, and what to do about it. */
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
function packedCopy({ path, packed, shown }: Output): Html {
  return packed === undefined
    ? html``
    : html`<script type="text/plain" data-packed="${href(path)}" data-as="${shown}">${packed}</script>
`
}

/**
 * Nothing in the copy is run, sent or opened. Its origin is kept, for without it a file may not load the pictures and
 * styles beside it. A PDF has a viewer of the browser's own, which no sandbox lets in: the script opens it, or what
 * comes next.
 */
function frame({ plugin, group, path, shown, packed, size }: Output): Html {
  if (shown === 'file')
    return html`<p class="nothing"><a class="button" href="${href(path)}" download>${path}</a> ${sizeText(size)}</p>`
  // In a frame a drawing would be a document.
  if (shown === 'image')
    return html`<div class="copy image" id="copy"><img src="${href(path)}" alt="${plugin} of the page"></div>`
  if (shown === 'video')
    return html`<div class="copy video" id="copy"><video src="${href(path)}" controls></video></div>`
  if (shown === 'audio')
    return html`<div class="copy audio" id="copy"><audio src="${href(path)}" controls></audio></div>`
  const sandboxed = packed ? html`sandbox="allow-same-origin"` : html`sandbox="allow-same-origin" src="${href(path)}"`
  return html`<div class="copy${group === 'text' ? ' reading' : ''}" id="copy">
<iframe name="copy" title="The copy: ${plugin}" referrerpolicy="no-referrer"
${shown === 'pdf' ? '' : sandboxed}></iframe></div>${
    packed &&
    html`<noscript><p class="nothing">Without scripts a copy cannot be kept from loading what it names.
<a href="${href(path)}">Open it as it is</a></p></noscript>`
  }`
}

function facts(snapshot: SnapshotPage): Html {
  const { id, sealedAt, depth, tags, notes, bookmarkedAt, results, outputs, httpStatus, outcome, cause, url } = snapshot
  // What was tried again a day later did not take a day.
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
${fact('It took', seconds === null ? null : duration(seconds))}
${fact('Size', sizeText(outputs.reduce((sum, { size }) => sum + size, 0)))}
${fact('Links followed', depth > 0 ? String(depth) : null)}
${fact('Id', html`<code>${id}</code>`)}
${fact('Tags', tags.length > 0 ? html`${tags.map((tag) => html`<span class="chip">${foreign(tag)}</span> `)}` : null)}
${fact('Bookmarked', bookmarkedAt && time(bookmarkedAt))}
${fact('Notes', notes && foreign(notes))}
</dl>`
}

function fileLine({ plugin, path, shown, files, size }: Output): Html {
  // With a script it is shown above, as all copies are; by itself it is what was served.
  const others = files > 1 ? html` in <a href="${href(plugin)}/">${many(files, 'file')}</a>` : ''
  const link = html`<a href="${href(path)}" data-shown="${shown}" data-name="${plugin}">${path}</a>`
  return html`<li>${link} ${sizeText(size)}${others}</li>
`
}
