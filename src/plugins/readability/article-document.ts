import type { Article } from './extract-article.ts'

/** What is shown above an article. */
export interface ArticleHead
  extends Pick<Article, 'title' | 'byline' | 'siteName' | 'lang' | 'dir' | 'publishedTime' | 'kept'> {
  readonly url: string
}

/**
 * Wraps the HTML of an article into a complete page: it opens from disk, in light and dark, with the right characters
 * and direction, and without requests; pictures elsewhere are replaced by their description.
 * @param content inert
 */
export function articleDocument(content: string, head: ArticleHead): string {
  const lang = head.lang ? ` lang="${escaped(head.lang)}"` : ''
  const dir = head.dir ? ` dir="${escaped(head.dir)}"` : ''
  const said = [head.siteName, head.byline].filter((text) => text !== null && text.trim() !== '') as string[]
  const about = [...said.map(escaped).map((text) => `<bdi>${text}</bdi>`), dateText(head.publishedTime)].filter(Boolean)
  const lacks =
    head.kept < 0.5 ? `<p class="lacks">This is ${Math.round(head.kept * 100)} % of the text of the page.</p>\n` : ''
  return `<!doctype html>
<html${lang}${dir}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${escaped(head.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1><bdi>${escaped(head.title)}</bdi></h1>
<p>${about.join(' · ')}${about.length > 0 ? '<br>' : ''}
<a href="${escaped(head.url)}" rel="noreferrer"><bdi>${escaped(head.url)}</bdi></a></p>
${lacks}</header>
<main>
${content}
</main>
</body>
</html>
`
}

const POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2128; --dim: #57606a; --back: #fff; --box: #f4f5f7;
  --line: #d5dae1; --link: #0a58b5 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e0e5ea; --dim: #9aa5b1; --back: #1a1f26; --box: #11151a; --line: #323a44; --link: #79b8ff }
}
body { max-width: 44rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem;
  font: 1.0625rem/1.65 Georgia, "Times New Roman", serif;
  color: var(--ink); background: var(--back); overflow-wrap: break-word }
header { border-bottom: 1px solid var(--line); margin-bottom: 1.5rem }
header, h1, h2, h3, h4, h5, h6, th { font-family: system-ui, sans-serif }
h1, h2, h3, h4, h5, h6 { line-height: 1.25 }
header h1 { font-size: 1.75rem; margin: 0 0 .5rem }
header p { font-size: .875rem; color: var(--dim); margin: 0 0 1rem; overflow-wrap: anywhere }
header .lacks { display: inline-block; padding: .25rem .75rem; border-radius: .375rem;
  color: #7a4f00; background: #fff1cc }
a { color: var(--link) }
img, video, svg { max-width: 100%; height: auto }
pre, code { font: .875rem/1.5 ui-monospace, monospace }
pre { padding: .75rem 1rem; border-radius: .375rem; background: var(--box); overflow-x: auto }
table { display: block; max-width: 100%; overflow-x: auto; border-collapse: collapse; font-size: .9375rem }
th, td { padding: .25rem .75rem; border: 1px solid var(--line); text-align: start; vertical-align: top;
  overflow-wrap: normal }
blockquote { margin: 1rem 0; padding: 0 1rem; border-inline-start: 3px solid var(--line); color: var(--dim) }
dd { margin-inline-start: 1.5rem }
figure { margin: 1rem 0 } figcaption { font-size: .875rem; color: var(--dim) }
hr { border: 0; border-top: 1px solid var(--line) }
`

/** The day of a date as pages write it; an invalid one is shown unchanged. */
function dateText(published: string | null): string {
  if (published === null || published.trim() === '') return ''
  const date = new Date(published)
  return escaped(Number.isNaN(date.getTime()) ? published.slice(0, 40) : date.toISOString().slice(0, 10))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
