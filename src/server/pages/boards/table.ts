import { type Html, html } from '../../../pages/html.ts'

/** A table: the first cell of a row names it. On a narrow screen it scrolls by itself. */
export interface Table {
  /** For screen readers. */
  readonly caption: string
  readonly id?: string
  readonly heads: readonly string[]
  readonly rows: readonly { readonly cells: readonly (Html | string)[]; readonly kind?: string }[]
  /** Shown instead when there are no rows. */
  readonly none: Html | string
  /** Whether it changes while it is open. */
  readonly isLive?: boolean
}

export function table({ caption, id, heads, rows, none, isLive = false }: Table): Html {
  const live = html`${id && html` id="${id}"`}${isLive ? html` data-live` : ''}`
  if (rows.length === 0) return html`<p class="dim"${live}>${none}</p>`
  const row = ({ cells: [name, ...others], kind }: Table['rows'][number]) =>
    html`<tr${kind && html` class="${kind}"`}><th scope="row">${name}</th>${others.map(
      (cell, at) => html`<td data-head="${heads[at + 1]}">${cell}</td>`,
    )}</tr>
`
  return html`<div class="scroll"${live} tabindex="0" role="region" aria-label="${caption}"><table>
<caption class="hidden">${caption}</caption>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map(row)}</tbody></table></div>`
}
