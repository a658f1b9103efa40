import { readFileSync } from 'node:fs'
import { join } from 'node:path'

// What pages try so that a copy of them runs or asks (hostile-pages/). In it `AT` stands for whoever is to be asked
// (`127.0.0.1:PORT`), `RUN` for a script that says so, `TRICK` for the script HEAD_TRICK, or none.

const read = (name: string) => readFileSync(join(import.meta.dirname, 'hostile-pages', name), 'utf8')

/** By which a page closes its own head, so that what a copy puts there comes to stand in the body. */
const HEAD_TRICK = `document.documentElement.prepend(document.createElement('p'))`

export interface HostileSite {
  /** HTML by the names of pages: each with the trick and without. */
  readonly pages: Readonly<Record<string, string>>
  /** What they name: hostile, too. By path. */
  readonly files: Readonly<Record<string, string>>
}

/**
 * A site of hostile pages.
 * @param at `127.0.0.1:PORT`, where it is served, and who is asked for what there is not
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
    // They make a document another one for the scripts of all others.
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

/** A script puts each part into the page, so that none can swallow the next. */
const pageOf = (parts: readonly string[]) => `<!doctype html><html><head><meta charset="utf-8">
<title>hostile</title></head><body><h1>Hostile</h1><script>
for (const part of ${JSON.stringify(parts).replaceAll('<', '\\u003c')})
  document.body.appendChild(document.createElement('section')).setHTMLUnsafe(part)
document.body.appendChild(document.createElement('h2')).append('The end')
TRICK
</script></body></html>`
