import type { Html } from '../../pages/html.ts'
import { html } from '../../pages/html.ts'
import { page } from '../../pages/layout.ts'
import { servedAssets } from '../assets.ts'

/** The pages that every page links to. */
const SECTIONS = [
  ['/', 'Archive'],
  ['/live', 'Live'],
  ['/schedules', 'Schedules'],
  ['/plugins', 'Plugins'],
  ['/settings', 'Settings'],
  ['/health', 'Health'],
] as const

/** One of them, also for the pages below it. */
export type Section = (typeof SECTIONS)[number][0]

/** The beginning of every page. @param here the section of this one */
export function banner(here: Section): Html {
  const link = ([path, name]: (typeof SECTIONS)[number]) =>
    html`<a href="${path}"${path === here ? html` aria-current="page"` : ''}>${name}</a>\n`
  return html`<a class="skip" href="#main">Skip to the content</a>
<nav class="sections" aria-label="Pages">${SECTIONS.map(link)}</nav>
<p class="note" id="note" role="status" hidden></p>
`
}

/** A page of this server without a counterpart on disk: figures and tables. @param topics what it listens to */
export function board(here: Section, title: string, body: Html, topics?: string): string {
  const { style, script, worker } = servedAssets()
  const assets = { style: style.path, script: script.path, worker: worker.path }
  const place = { ...assets, banner: banner(here), policy: () => undefined }
  const main = html`<main id="main" tabindex="-1">\n${body}</main>`
  return page({ title, kind: 'board', body: main, ...(topics && { topics }) }, place)
}
