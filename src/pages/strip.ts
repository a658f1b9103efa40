import { number, sizeText } from '../base/words.ts'
import { type Html, html } from './html.ts'
import { live } from './layout.ts'
import { cardsOf, isPackage } from './model/outputs.ts'
import type { SnapshotPage, SnapshotPageResult } from './model/snapshot.ts'
import type { Place, ShownOutput } from './place.ts'

/** The copies: the main ones as previews, the others by name, and what is missing. */
export function strip(
  outputs: readonly ShownOutput[],
  best: ShownOutput | undefined,
  results: SnapshotPage['results'],
  place: Place,
): Html {
  const cards = cardsOf(outputs)
  const others = outputs.filter((output) => !cards.includes(output))
  const chips = others.slice(0, MOST_CHIPS).map((output) => chip(output, output === best, place))
  const rest = others.length - chips.length
  return html`<nav class="strip"${live(place, 'strip')} aria-label="Copies and data">
<div class="cards">${cards.map((output) => card(output, output === best, place))}</div>
<div class="chips">${missing(results, outputs).map(lostChip)}${chips}${
    rest > 0 ? html`<a href="#files">${number(rest)} more</a>` : ''
  }</div>
</nav>`
}

const MOST_CHIPS = 40

/** The last message of every hook that failed and left nothing. */
function missing(results: SnapshotPage['results'], outputs: readonly ShownOutput[]): SnapshotPageResult[] {
  const kept = new Set(outputs.map(({ plugin }) => plugin))
  const last = new Map(results.map((result) => [result.hookName, result]))
  return [...last.values()].filter(({ plugin, status }) => status === 'failed' && !kept.has(plugin))
}

function card(output: ShownOutput, isBest: boolean, place: Place): Html {
  const { plugin, group, size, shown } = output
  return html`<a class="card ${group}" ${linkTo(output, place)}${isBest ? html` aria-current="true"` : ''}>
<span class="preview ${shown}">${preview(output, place)}</span><b>${plugin}</b>${part(output)}
<small>${sizeText(size)}</small></a>
`
}

function chip(output: ShownOutput, isBest: boolean, place: Place): Html {
  return html`<a class="chip ${output.group}" ${linkTo(output, place)}${isBest ? html` aria-current="true"` : ''}
title="${sizeText(output.size)}">${output.plugin}${part(output)}</a>
`
}

function part({ path, isPart }: ShownOutput): Html {
  return isPart ? html` <em class="badge partial">${OF_ERROR.test(path) ? 'error' : 'part'}</em>` : html``
}

/** The body of an error response: see `../plugins/html` and `../plugins/staticfile`. */
const OF_ERROR = /^(?:html\/error\.html$|staticfile\/error-)/

function lostChip({ plugin, output }: SnapshotPageResult): Html {
  return html`<a class="chip failed" href="#hooks" title="${output}">${plugin} failed</a>
`
}

function linkTo(output: ShownOutput, place: Place): Html {
  const { plugin, href, shown, packed } = output
  if (place.choice) return html`href="${place.choice(output)}"`
  // Without a script, nothing protects a packed copy: it opens like any other file.
  const target = shown === 'file' || packed ? '_blank' : 'copy'
  return html`href="${href}" data-shown="${shown}" data-name="${plugin}" target="${target}"`
}

/** Nothing in it can be clicked or run: it is a picture of what opens. */
function preview({ path, href, shown, packed, picture }: ShownOutput, { sandbox }: Place): Html {
  if (picture !== undefined || shown === 'image') return html`<img src="${picture ?? href}" alt="" loading="lazy">`
  if (shown === 'html' || shown === 'source' || shown === 'text')
    return html`<iframe ${packed ? html`data-copy` : html`src`}="${href}" sandbox="${sandbox}"
loading="lazy" tabindex="-1" aria-hidden="true" title=""></iframe>`
  if (isPackage({ path })) return html`<small>replays in ReplayWeb.page</small>`
  const sign = { file: '⤓', pdf: 'PDF', video: '▶', audio: '♪' }[shown]
  return html`<span aria-hidden="true">${sign}</span>`
}
