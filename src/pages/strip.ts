import { number, sizeText } from '../base/words.ts'
import type { SnapshotPageResult } from './hook-table.ts'
import { type Html, href, html } from './layout.ts'
import { cardsOf, type Output } from './outputs.ts'

/** The copies: the chief ones as they look, the others by their names, and what is missing. */
export function strip(
  outputs: readonly Output[],
  best: Output | undefined,
  results: readonly SnapshotPageResult[],
): Html {
  const cards = cardsOf(outputs)
  const others = outputs.filter((output) => !cards.includes(output))
  const chips = others.slice(0, MOST_CHIPS).map((output) => chip(output, output === best))
  const rest = others.length - chips.length
  return html`<nav class="strip" aria-label="Copies and data">
<div class="cards">${cards.map((output) => card(output, output === best))}</div>
<div class="chips">${missing(results, outputs).map(lostChip)}${chips}${
    rest > 0 ? html`<a href="#files">${number(rest)} more</a>` : ''
  }</div>
</nav>`
}

const MOST_CHIPS = 40

/** The last word of every hook that failed and left nothing. */
function missing(results: readonly SnapshotPageResult[], outputs: readonly Output[]): SnapshotPageResult[] {
  const kept = new Set(outputs.map(({ plugin }) => plugin))
  const last = new Map(results.map((result) => [result.hookName, result]))
  return [...last.values()].filter(({ plugin, status }) => status === 'failed' && !kept.has(plugin))
}

function card(output: Output, isBest: boolean): Html {
  const { plugin, group, size, shown } = output
  return html`<a class="card ${group}" ${linkTo(output)}${isBest ? html` aria-current="true"` : ''}>
<span class="preview ${shown}">${preview(output)}</span><b>${plugin}</b>${part(output)}
<small>${sizeText(size)}</small></a>
`
}

function chip(output: Output, isBest: boolean): Html {
  return html`<a class="chip ${output.group}" ${linkTo(output)}${isBest ? html` aria-current="true"` : ''}
title="${sizeText(output.size)}">${output.plugin}${part(output)}</a>
`
}

function part({ path, isPart }: Output): Html {
  return isPart ? html` <em class="badge partial">${path === ERROR_PAGE ? 'error page' : 'part'}</em>` : html``
}

/** What a server sends with an error: see `../plugins/html`. */
const ERROR_PAGE = 'html/error.html'

function lostChip({ plugin, output }: SnapshotPageResult): Html {
  return html`<a class="chip failed" href="#hooks" title="${output}">${plugin} failed</a>
`
}

function linkTo({ plugin, path, shown, packed }: Output): Html {
  // Without a script, nothing closes a packed one: it opens like any other file.
  const target = shown === 'file' || packed ? '_blank' : 'copy'
  return html`href="${href(path)}" data-shown="${shown}" data-name="${plugin}" target="${target}"`
}

/** Nothing of it can be touched or run: it is a picture of what opens. */
function preview({ plugin, path, shown, packed, thumbnail }: Output): Html {
  if (thumbnail !== undefined || shown === 'image')
    return html`<img src="${href(thumbnail ?? path)}" alt="" loading="lazy">`
  if (shown === 'html' || shown === 'source' || shown === 'text')
    return html`<iframe ${packed ? html`data-copy` : html`src`}="${href(path)}" sandbox="allow-same-origin"
loading="lazy" tabindex="-1" aria-hidden="true" title=""></iframe>`
  if (plugin === 'wacz') return html`<small>replays in ReplayWeb.page</small>`
  const sign = { file: '⤓', pdf: 'PDF', video: '▶', audio: '♪' }[shown]
  return html`<span aria-hidden="true">${sign}</span>`
}
