import { when } from '../base/words.ts'
import type { WorkStatus } from '../db/tables.ts'
import type { ListData } from './list-data.ts'
import type { Place } from './place.ts'

/** Text that is already HTML: put together by `html`, never taken from outside. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | null | undefined | readonly Part[]

/**
 * A template whose values are escaped, unless they are HTML already. Null and undefined are nothing; arrays are
 * joined.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(strings.reduce((out, text, index) => out + part(values[index - 1]) + text))
}

function part(value: Part): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(part).join('')
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Text of a page that was archived: what it says of its direction (U+202E and its like) ends with it. */
export function foreign(text: string): Html {
  return html`<bdi>${text}</bdi>`
}

/** The list of a page for its script: no text in it can end the element that it is in. */
export function data(value: ListData): Html {
  const json = JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return new Html(`<script type="application/json" id="data">${json}</script>`)
}

/** A moment that the page's script shows in the reader's own time. */
export function time(date: Date): Html {
  return html`<time datetime="${date.toISOString()}">${when(date)}</time>`
}

/** Where a crawl is. */
export const CRAWL_STATUSES: Readonly<Record<WorkStatus, string>> = {
  queued: 'Waiting to begin',
  started: 'Running',
  paused: 'Paused',
  sealed: 'Finished',
}

const OUTCOMES = { archived: 'Archived', partial: 'Partial', failed: 'Failed' } as const

/** The verdict on a page; one of an older program may have none. */
export function outcomeBadge(outcome: keyof typeof OUTCOMES | null): Html {
  return outcome === null ? html`` : html`<span class="badge ${outcome}">${OUTCOMES[outcome]}</span>`
}

export interface Page {
  /** Of the window; the text of others is plain there. */
  readonly title: string
  /** What the script makes of it. */
  readonly kind: 'archive' | 'crawl' | 'snapshot'
  /** Does it show HTML of strangers in frames, which its policy rules, too? */
  readonly showsCopies?: boolean
  readonly body: Html
  /** Data that it is shown with: scripts, by their links. */
  readonly scripts?: readonly string[]
}

/** A whole page. */
export function page({ title, kind, body, scripts = [], showsCopies = false }: Page, place: Place): string {
  const load = (src: string) => html`<script src="${src}"></script>\n`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${place.policy(showsCopies)}">
<title>${title}</title>
<link rel="stylesheet" href="${place.style}">
<script src="${place.script}"></script>
</head>
<body class="${kind}">
${body}
${scripts.map(load)}</body>
</html>
`.text
}
