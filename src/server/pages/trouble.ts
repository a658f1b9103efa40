import { foreign, html } from '../../pages/html.ts'
import { board } from './frame.ts'

/** A page about what went wrong, and what to do. @param why in one line */
export function troublePage(text: string, why: string): string {
  const body = html`<h1>${text}</h1>
<p>${foreign(why)}</p>
<p><a href="/">The archive</a> · <a href="/live">What happens now</a></p>`
  return board('/', text, body)
}
