// `npm run docs [-- FOLDER]`: makes plain pages of docs/*.md, by default in docs/site. The start page is
// docs/README.md; its links are the way through all others.
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Marked, type Tokens } from 'marked'

const docs = join(import.meta.dirname, '..', 'docs')
const START = 'README.md'

const STYLE = `
:root { color-scheme: light dark; --line: #8886; --faint: #8881 }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; display: grid; grid-template-columns: 14rem 1fr; gap: 2rem;
  font: 1rem/1.55 system-ui, sans-serif }
main { min-width: 0 }
h1, h2, h3 { line-height: 1.25; margin: 2rem 0 .75rem }
h1 { margin-top: 0 }
nav { font-size: .95rem }
nav h2 { font-size: 1rem; margin: 1rem 0 .25rem }
nav ul { list-style: none; margin: 0; padding: 0 }
nav [aria-current] { font-weight: bold }
code, pre { font: .9em ui-monospace, monospace }
code { background: var(--faint); padding: .1em .25em; border-radius: 3px }
pre { background: var(--faint); padding: .75rem; border-radius: 5px; overflow-x: auto }
pre code { background: none; padding: 0 }
.wide { overflow-x: auto }
table { border-collapse: collapse }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top }
img { max-width: 100%; height: auto; background: #fff }
@media (max-width: 50rem) { body { grid-template-columns: minmax(0, 1fr) } nav { order: 1 } }
`

/** As GitHub makes the anchor of a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
const pageOf = (file: string) => (file === START ? 'index.html' : file.replace(/\.md$/, '.html'))
const titleOf = (text: string) => /^# (.*)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? ''

/** A page of ours for a document of ours; what lies elsewhere in the repository has none. */
function hrefOf(link: string): string | undefined {
  if (/^[a-z]+:|^#/.test(link)) return link
  if (link.startsWith('../')) return undefined
  const [path = '', anchor] = link.split('#')
  return `${path.endsWith('.md') ? pageOf(path) : path}${anchor === undefined ? '' : `#${anchor}`}`
}

const markdown = new Marked({
  renderer: {
    heading({ tokens, depth, text }: Tokens.Heading): string {
      return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    link({ href, tokens }: Tokens.Link): string {
      const [to, text] = [hrefOf(href), this.parser.parseInline(tokens)]
      return to === undefined ? text : `<a href="${escaped(to)}">${text}</a>`
    },
  },
  hooks: {
    // A table that is wider than the page scrolls by itself.
    postprocess: (html) => html.replace(/<table>[\s\S]*?<\/table>/g, '<div class="wide" tabindex="0">$&</div>'),
  },
})

/** What the start page links to, by its headings; what it does not name comes last. */
function contents(texts: ReadonlyMap<string, string>): Map<string, string[]> {
  const [, ...parts] = texts.get(START)!.split(/^## /m)
  const chapters = new Map(
    parts.map((part) => [
      part.split('\n')[0]!,
      [...part.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, file]) => file!).filter((file) => texts.has(file)),
    ]),
  )
  const named = new Set([START, ...[...chapters.values()].flat()])
  const more = [...texts.keys()].filter((file) => !named.has(file))
  return more.length === 0 ? chapters : chapters.set('More', more)
}

/** All pages, by the names of their files. */
export function site(): ReadonlyMap<string, string> {
  const names = globSync('*.md', { cwd: docs }).sort()
  const texts = new Map(names.map((name) => [name, readFileSync(join(docs, name), 'utf8')]))
  const chapters = contents(texts)
  const entry = (file: string, current: string) =>
    `<li><a href="${pageOf(file)}"${file === current ? ' aria-current="page"' : ''}>` +
    `${escaped(titleOf(texts.get(file)!))}</a></li>`
  const navigation = (current: string) =>
    [...chapters]
      .map(([title, list]) => `<h2>${title}</h2>\n<ul>\n${list.map((file) => entry(file, current)).join('\n')}\n</ul>`)
      .join('\n')
  const page = (file: string, text: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(titleOf(text))}${file === START ? '' : ' - archivebox-ts'}</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<nav aria-label="Documents">
<a href="index.html">archivebox-ts</a>
${navigation(file)}
</nav>
<main>
${markdown.parse(text, { async: false })}</main>
</body>
</html>
`
  return new Map([...texts].map(([file, text]) => [pageOf(file), page(file, text)]))
}

/** Writes the pages and what they show into a folder, which is theirs alone. */
export function writeSite(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, html] of site()) writeFileSync(join(folder, name), html)
  writeFileSync(join(folder, 'style.css'), STYLE.trimStart())
  const files = globSync('**/*', { cwd: docs, withFileTypes: true, exclude: (entry) => entry.name === 'site' })
  for (const { parentPath, name } of files.filter((entry) => entry.isFile() && !/\.md$/.test(entry.name))) {
    const path = join(parentPath, name)
    mkdirSync(dirname(join(folder, path.slice(docs.length))), { recursive: true })
    cpSync(path, join(folder, path.slice(docs.length)))
  }
}

if (import.meta.main) {
  const folder = process.argv[2] ?? join(docs, 'site')
  writeSite(folder)
  console.log(`open ${join(folder, 'index.html')}: ${basename(folder)} has ${site().size} pages`)
}
