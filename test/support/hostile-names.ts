import { createHash } from 'node:crypto'
import type { Route, Routes } from './site.ts'

/**
 * Names with a meaning for a program, a shell, a file system, a terminal or a spreadsheet, and names that nothing has.
 */
export const HOSTILE_NAMES: readonly string[] = [
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'x.constructor', 'x.__proto__', 'then', 'length'],
  ...[
    'a'.repeat(255),
    `${'\u5b57'.repeat(84)}.txt`,
    'x.',
    'x ',
    ' x',
    '.',
    '..',
    '...',
    '.hidden',
    '~',
    '-rf',
    '--help',
  ],
  ...[
    '%00',
    'a\u0000b',
    '../../../../escape',
    '..\\..\\escape',
    '/etc/passwd',
    'C:\\x',
    'CON',
    'NUL',
    'aux.txt',
    'a:b',
  ],
  ...[
    'Case.txt',
    'case.txt',
    'caf\u00e9',
    'cafe\u0301',
    '\u202egpj.exe',
    '\ud800',
    'a\udc00b',
    '\uffff',
    '\ufeffx',
    '\u200b',
  ],
  ...['index.html', 'index.jsonl', 'cmd.sh', 'x.log', 'x.pid', '.logs', '.work', 'hashes.json', 'urls.jsonl', 'x.tmp'],
  ...[
    '$(id)',
    '`id`',
    "';--",
    '"><script>1</script>',
    '&amp;',
    '=cmd|1',
    '@SUM(1)',
    '\u001b[31m',
    'a\nb',
    'a\tb',
    '\u{1f4a9}',
  ],
]

/** As a part of a path: characters that a URL cannot contain are percent-encoded, half of a character as U+FFFD. */
export const inPath = (name: string): string => encodeURIComponent(name.toWellFormed())

/** As text in HTML or XML, which has no NULs. */
const inMarkup = (name: string): string =>
  name
    .toWellFormed()
    .replace(/(?![\t\n])[\p{Cc}\uffff]/gu, '\ufffd')
    .replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`)

/** The content of a file with such a name. */
export const contentOf = (name: string): string => `the file of ${createHash('sha256').update(name).digest('hex')}\n`

/**
 * A site whose names are all hostile: `/` links to a file of each name, by its path and by its Content-Disposition, to
 * a page with each as its title, and to a feed with an item for each. It contains exactly the files that a crawl of one
 * step requests.
 * @param names by default all
 */
export function namesSite(names: readonly string[] = HOSTILE_NAMES): Routes {
  const routes: Record<string, Route> = Object.create(null) as Record<string, Route>
  const links: string[] = []
  const serve = (path: string, body: string, headers: Record<string, string>) => {
    links.push(path)
    routes[path] = (_request, response) => response.writeHead(200, headers).end(body)
  }
  for (const [at, name] of names.entries()) {
    // Those two are steps in a path, not names.
    if (!/^\.{1,2}$/.test(name))
      serve(`/path/${at}/${inPath(name)}`, contentOf(name), { 'content-type': 'application/octet-stream' })
    serve(`/said/${at}`, contentOf(name), {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename*=UTF-8''${inPath(name)}`,
    })
    const quoted = name.replace(/[^\u0020-\u00ff]|\u007f/g, '_').replace(/(["\\])/g, '\\$1')
    serve(`/quoted/${at}`, contentOf(name), {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${quoted}"`,
    })
    serve(
      `/page/${at}`,
      `<!doctype html><title>${inMarkup(name)}</title><meta name="${inMarkup(name)}" content="${inMarkup(name)}">
<meta property="og:title" content="${inMarkup(name)}"><script type="application/ld+json">${JSON.stringify(
        Object.fromEntries([[name, { [name]: name }]]),
      ).replaceAll('<', '\\u003c')}</script><h1>${inMarkup(name)}</h1><p id="${inMarkup(name)}">${inMarkup(name)}</p>`,
      { 'content-type': 'text/html; charset=utf-8', [`x-${at}`]: quoted },
    )
  }
  const items = names.map(
    (name, at) => `<item><title>${inMarkup(name)}</title><category>${inMarkup(name)}</category>
<link>/page/${at}#${inMarkup(inPath(name))}</link><guid isPermaLink="false">${inMarkup(name)}</guid></item>`,
  )
  serve('/feed', `<rss><channel><title>feed</title>${items.join('\n')}</channel></rss>`, {
    'content-type': 'application/rss+xml',
  })
  const anchors = links.map((path) => `<a href="${path}">${path}</a>`)
  routes['/'] = `<!doctype html><title>names</title>${anchors.join('\n')}`
  return routes
}
