import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../../src/db/home.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { watchPeak } from './peak.ts'
import { MAIN, startNode } from './program.ts'

const ENTRIES = 100_000

const url = (n: number) => `http://127.0.0.1:9/articles/2024/some-title-of-a-page/${n}.html`
const title = (n: number) => `A title about as long as titles are, of page ${n}`

/** How each format begins, holds an entry, parts entries, and ends. */
const FORMATS: Readonly<
  Record<string, readonly [head: string, entry: (n: number) => string, part: string, end: string]>
> = {
  txt: ['', url, '\n', '\n'],
  netscape: [
    '<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>\n',
    (n) => `<DT><A HREF="${url(n)}" ADD_DATE="1500000000" TAGS="a${n % 50},b">${title(n)}</A>\n<DD>a note`,
    '\n',
    '\n</DL>',
  ],
  rss: [
    '<rss version="2.0"><channel>',
    (n) =>
      `<item><title>${title(n)}</title><link>${url(n)}</link><description>${'text '.repeat(40)}</description></item>`,
    '\n',
    '</channel></rss>',
  ],
  json: [
    '[',
    (n) => JSON.stringify({ href: url(n), description: title(n), extended: 'a note', tags: 'a b' }),
    ',\n',
    ']',
  ],
  csv: ['url,title,tags\n', (n) => `${url(n)},"${title(n)}, or so",a|b`, '\n', '\n'],
  jsonl: ['', (n) => JSON.stringify({ type: 'Snapshot', url: url(n), title: title(n), tags: ['a', 'b'] }), '\n', '\n'],
}

/** Lists of other programs: how fast each comes in, and the memory that it takes. */
export async function imports(rounds: number): Promise<Figure[]> {
  const runs = Object.keys(FORMATS).map((format) => ({ format, rates: [] as number[], peaks: [] as number[] }))
  for (let round = 0; round < rounds; round += 1)
    for (const { format, rates, peaks } of runs) {
      const { seconds, peak } = await withHome((home) => importOnce(home, format))
      rates.push(ENTRIES / seconds)
      peaks.push(peak)
    }
  return runs.flatMap(({ format, rates, peaks }): Figure[] => [
    {
      ...{ bench: 'imports', what: `add --file, ${ENTRIES} entries of ${format}`, unit: 'pages/s', values: rates },
      target: { atLeast: 20_000, of: 'value' },
    },
    { bench: 'imports', what: 'its peak memory', unit: 'MB', values: peaks, target: { atMost: 400, of: 'value' } },
  ])
}

async function importOnce({ dataDir }: Home, format: string): Promise<{ seconds: number; peak: number }> {
  const [head, entry, part, end] = FORMATS[format]!
  const file = join(dataDir, 'list')
  writeFileSync(file, head + Array.from({ length: ENTRIES }, (_, n) => entry(n)).join(part) + end)
  const begun = performance.now()
  const add = startNode([MAIN, '--data-dir', dataDir, 'add', '--file', file], { stdio: 'ignore' })
  const watched = watchPeak(add.pid!)
  const [code] = await once(add, 'exit')
  if (code !== 0) throw new Error(`add of ${format} ended with ${code}`)
  return { seconds: (performance.now() - begun) / 1000, peak: watched.end() }
}
