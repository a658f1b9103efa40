import { when } from '../base/words.ts'
import type { WorkStatus } from '../db/tables.ts'
import type { PageAssets } from './assets.ts'

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

/** A link that opens from disk: each step of the path percent-encoded. */
export function href(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

/** Text of a page that was archived: what it says of its direction (U+202E and its like) ends with it. */
export function foreign(text: string): Html {
  return html`<bdi>${text}</bdi>`
}

/** Data for the script of a page: no text in it can end the element that it is in. */
export function data(value: unknown): Html {
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
  readonly assets: PageAssets
  /** Does it show HTML of strangers in frames, which its policy rules, too? */
  readonly showsCopies?: boolean
  /** From the page's folder to the top of the archive. */
  readonly top: string
  readonly body: Html
  /** Files of data, relative to the page, that it is shown with. */
  readonly scripts?: readonly string[]
}

/**
 * What may be loaded, by the word of the page itself: files beside it, and nothing from anywhere else. A browser
 * counts no file as `self`.
 */
const POLICY = [
  "default-src 'none'",
  ...['script', 'style', 'img', 'media', 'font', 'frame', 'object'].map((kind) => `${kind}-src 'self' file: data:`),
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')
/** Copies have styles within, and are told where the files beside them lie. */
const COPIES_POLICY = POLICY.replace('style-src', "style-src 'unsafe-inline'").replace(
  "base-uri 'none'",
  "base-uri 'self' file:",
)

/**
 * A whole page. It opens from disk for ever: what it loads lies in the data dir, under names that say what is in it.
 */
export function page({ title, kind, assets, top, body, scripts = [], showsCopies = false }: Page): string {
  const load = (path: string) => html`<script src="${href(path)}"></script>\n`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${showsCopies ? COPIES_POLICY : POLICY}">
<title>${title}</title>
<link rel="stylesheet" href="${href(top)}/${assets.style}">
<script src="${href(top)}/${assets.script}"></script>
</head>
<body class="${kind}">
${body}
${scripts.map(load)}</body>
</html>
`.text
}
