/** Text that is already HTML: put together by `html`, never taken from outside. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | null | undefined | readonly Part[]

/** A template whose values are escaped, unless they are HTML already. Null and undefined are nothing; arrays are joined. */
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

export function when(date: Date | null | undefined): string {
  return date ? `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC` : ''
}

export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = bytes > 0 ? Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1) : 0
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`
}

/** A whole page: one file, no scripts, nothing loaded from elsewhere, so that it opens from disk for ever. */
export function page(title: string, body: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
${body}
<footer>Archived by archivebox-ts</footer>
</body>
</html>
`.text
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --dim: #777; --ok: #1a7f37; --bad: #c62828; --card: #8881 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
a { color: #0b62c4; text-decoration: none } a:hover { text-decoration: underline }
@media (prefers-color-scheme: dark) { a { color: #7ab8ff } :root { --ok: #58c97a; --bad: #ff7b72 } }
.url, .dim { color: var(--dim); overflow-wrap: anywhere } .dim { font-size: .875rem }
table { border-collapse: collapse; width: 100%; font-size: .9375rem }
th { text-align: left; font-weight: 600; color: var(--dim) }
th, td { padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere }
td.n, th.n { text-align: right; white-space: nowrap }
.succeeded, .sealed { color: var(--ok) } .failed { color: var(--bad) } .skipped, .noresults, .queued { color: var(--dim) }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .75rem; margin: 1rem 0 }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; background: var(--card); overflow: hidden }
.card { overflow-wrap: anywhere } .card b { display: block } .card img { display: block; max-width: 100%; max-height: 8rem; margin: .5rem 0 0; border-radius: .25rem }
footer { margin: 3rem 0 1rem; font-size: .8125rem; color: var(--dim) }
`
