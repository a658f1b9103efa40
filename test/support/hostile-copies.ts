import { readFileSync } from 'node:fs'
import { join } from 'node:path'

// Attempts by pages to make their copies run scripts or send requests (hostile-pages/). `AT` stands for the target of
// requests (`127.0.0.1:PORT`), `RUN` for a script that reports that it ran, `TRICK` for the script HEAD_TRICK, or none.

const read = (name: string) => readFileSync(join(import.meta.dirname, 'hostile-pages', name), 'utf8')

/** Makes a page close its own head, so that anything that a copy puts there ends up in the body. */
const HEAD_TRICK = `document.documentElement.prepend(document.createElement('p'))`

export interface HostileSite {
  /** HTML by the names of pages: each with the trick and without. */
  readonly pages: Readonly<Record<string, string>>
  /** The files that they refer to, also hostile, by path. */
  readonly files: Readonly<Record<string, string>>
}

/**
 * A site of hostile pages.
 * @param at `127.0.0.1:PORT`, which serves it, and also receives requests for anything missing
 * @param run the script whose runs are noticed
 */
export function hostileSite(at: string, run = 'console.log(/ran/)'): HostileSite {
  const { clobbering = [], ...others } = JSON.parse(read('parts.json')) as Record<string, string[]>
  const documents = JSON.parse(read('documents.json')) as string[]
  const port = at.slice(at.lastIndexOf(':') + 1)
  const filled = (text: string, trick = '') =>
    text.replace(/\b(?:TRICK|AT|PORT|RUN)\b/g, (word) => ({ TRICK: trick, AT: at, PORT: port, RUN: run })[word]!)
  const all = [
    ['parts', pageOf(Object.values(others).flat())],
    // Makes the document look different to the scripts of all others.
    ['clobbering', pageOf(clobbering)],
    ...documents.map((text, number) => [`document${number}`, text] as const),
  ] as const
  const pages = all.flatMap(([name, text]) => [
    [name, filled(text)],
    [`${name}-tricked`, filled(text, HEAD_TRICK)],
  ])
  return {
    pages: Object.fromEntries(pages) as Record<string, string>,
    files: {
      '/sheet.css': filled(read('sheet.css.txt')),
      '/drawing.svg': filled(read('drawing.svg.txt')),
      '/frame.html': filled('<script>RUN</script><img src="http://AT/inframe" onerror="RUN">'),
    },
  }
}

/** A script adds each part to the page, so that none can swallow the next. */
const pageOf = (parts: readonly string[]) => `<!doctype html><html><head><meta charset="utf-8">
<title>hostile</title></head><body><h1>Hostile</h1><script>
for (const part of ${JSON.stringify(parts).replaceAll('<', '\\u003c')})
  document.body.appendChild(document.createElement('section')).setHTMLUnsafe(part)
document.body.appendChild(document.createElement('h2')).append('The end')
TRICK
</script></body></html>`
