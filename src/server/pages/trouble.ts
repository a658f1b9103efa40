import { foreign, html } from '../../pages/html.ts'
import { board } from './frame.ts'

/** What went wrong, and what now. @param why in one line */
export function troublePage(text: string, why: string): string {
  const body = html`<h1>${text}</h1>
<p>${foreign(why)}</p>
<p><a href="/">The archive</a> · <a href="/live">What happens now</a></p>`
  return board('/', text, body)
}
