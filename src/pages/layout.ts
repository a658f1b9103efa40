import { oneLine } from '../base/clean.ts'
import { when } from '../base/words.ts'
import type { WorkStatus } from '../db/tables.ts'
import { Html, html } from './html.ts'
import type { ListData } from './list-data.ts'
import type { Place } from './place.ts'

/** The list of a page for its script: no text in it can end its element. */
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

/** The attributes of an element that is replaced while the page is open. @param id if it has none otherwise */
export function live({ isLive }: Pick<Place, 'isLive'>, id?: string): Html {
  return isLive ? html`${id && html` id="${id}"`} data-live` : html``
}

/** The element around the content: on a served page a link leads here. */
export function main({ isLive }: Pick<Place, 'isLive'>): Html {
  return isLive ? html`<main id="main" tabindex="-1">` : html`<main>`
}

/** The states of a crawl. */
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
  /** The title of the window; text of untrusted pages is plain there. */
  readonly title: string
  /** What the script makes of it. */
  readonly kind: 'archive' | 'crawl' | 'snapshot' | 'board'
  /** Whether it shows untrusted HTML in frames, which its policy also controls. */
  readonly showsCopies?: boolean
  readonly body: Html
  /** The topics that it listens to: words, separated by blanks. */
  readonly topics?: string
  /** Scripts with its data, by their links. */
  readonly scripts?: readonly string[]
}

/** A complete page. */
export function page(
  { title, kind, body, topics, scripts = [], showsCopies = false }: Page,
  place: Pick<Place, 'banner' | 'policy' | 'style' | 'script' | 'worker'>,
): string {
  const load = (src: string) => html`<script src="${src}"></script>\n`
  const policy = place.policy(showsCopies)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${
  policy &&
  html`<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="${policy}">
`
}<title>${oneLine(title)}</title>
<link rel="stylesheet" href="${place.style}">
<script src="${place.script}"></script>
</head>
<body class="${kind}"${topics && html` data-topics="${topics}" data-now="${Date.now()}" data-worker="${place.worker}"`}>
${place.banner}${body}
${scripts.map(load)}</body>
</html>
`.text
}
