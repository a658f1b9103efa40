import { html } from '../../pages/html.ts'
import { page } from '../../pages/layout.ts'
import { servedAssets } from '../assets.ts'

/** Where a code is typed, or taken from the link by the script. @param why the last one was rejected */
export function loginPage(why?: string): string {
  const { style, script } = servedAssets()
  const body = html`<main class="login">
<h1>Archive</h1>
${why && html`<p class="cause failed" role="alert">${why}</p>`}
<form method="post" action="/login">
<p>The server printed a link when it started. Its code lets one browser in, once, within five minutes.</p>
<label><span>Code</span> <input name="code" id="code" required autofocus autocomplete="off" autocapitalize="none"
spellcheck="false"></label>
<button type="submit">Log in</button>
<p class="dim">No code, or an old one? <code>archivebox-ts server link</code> prints a new link.</p>
</form>
</main>`
  return page(
    { title: 'Log in · Archive', kind: 'board', body },
    { style: style.path, script: script.path, policy: () => undefined },
  )
}
