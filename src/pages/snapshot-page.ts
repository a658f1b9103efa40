import type { OutputFile, ResultStatus } from '../db/tables.ts'
import { type Html, href, html, page, sizeText, when } from './layout.ts'

export interface SnapshotPage {
  readonly url: string
  readonly title: string | null
  readonly createdAt: Date
  readonly depth: number
  readonly tags: readonly string[]
  /** Relative path to the crawl's page, and to the top of the archive. */
  readonly crawlHref: string
  readonly topHref: string
  readonly results: readonly {
    readonly plugin: string
    readonly hookName: string
    readonly status: ResultStatus
    readonly output: string
    readonly files: Readonly<Record<string, OutputFile>>
    readonly seconds: number | null
  }[]
}

type Result = SnapshotPage['results'][number]

const IMAGES = /^image\//
/** Files that are the point of their plugin's output, most telling first. */
const MAIN = [
  'output.html',
  'content.html',
  'output.pdf',
  'screenshot.png',
  'singlefile.html',
  'title.txt',
  'headers.json',
  'hashes.json',
]

/** The page of one snapshot: what was archived, every output, and how every hook fared. */
export function snapshotPage(data: SnapshotPage): string {
  const made = data.results.filter((result) => Object.keys(result.files).length > 0)
  return page(
    data.title ?? data.url,
    html`<p class="dim"><a href="${data.topHref}">archive</a> / <a href="${data.crawlHref}">crawl</a></p>
<h1>${data.title ?? data.url}</h1>
<p class="url"><a href="${data.url}" rel="noreferrer">${data.url}</a></p>
<p class="dim">archived ${when(data.createdAt)}${data.depth > 0 ? ` · depth ${data.depth}` : ''}${data.tags.length > 0 ? ` · ${data.tags.join(', ')}` : ''}</p>
<div class="cards">${made.map(card)}</div>
<h2>Hooks</h2>
<table><tr><th>plugin</th><th>status</th><th>result</th><th class="n">time</th></tr>${data.results.map(row)}</table>`,
  )
}

function card(result: Result): Html {
  const paths = Object.keys(result.files)
  const main =
    MAIN.find((name) => paths.includes(name)) ??
    paths.find((path) => result.output === `${result.plugin}/${path}`) ??
    paths[0]!
  const size = Object.values(result.files).reduce((sum, file) => sum + file.size, 0)
  const image = paths.find((path) => IMAGES.test(result.files[path]!.mimetype))
  return html`<div class="card"><b>${result.plugin}</b><a href="${href(`${result.plugin}/${main}`)}">${main}</a>
<span class="dim">${sizeText(size)}${paths.length > 1 ? html` · <a href="${href(result.plugin)}/">${paths.length} files</a>` : ''}</span>
${image ? html`<a href="${href(`${result.plugin}/${image}`)}"><img src="${href(`${result.plugin}/${image}`)}" alt="" loading="lazy"></a>` : ''}</div>
`
}

function row(result: Result): Html {
  const time = result.seconds === null ? '' : `${result.seconds.toFixed(result.seconds < 10 ? 2 : 0)} s`
  return html`<tr><td title="${result.hookName}">${result.plugin}</td><td class="${result.status}">${result.status}</td><td>${result.output}</td><td class="n">${time}</td></tr>
`
}
