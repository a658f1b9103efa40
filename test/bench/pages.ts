import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import { archivePage } from '../../src/pages/archive-page.ts'
import { assetFiles } from '../../src/pages/assets.ts'
import { crawlPage } from '../../src/pages/crawl-page.ts'
import { chunkLine, chunkText } from '../../src/pages/index-chunk.ts'
import type { CrawlPage } from '../../src/pages/model/crawl.ts'
import { onDisk } from '../../src/pages/on-disk.ts'
import { writeArchivePage } from '../../src/workers/index/index-pages.ts'
import { Browser, noBrowser } from '../support/browser.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { makeLargeArchive } from './large-archive.ts'

const PAGES = 100_000
const OF_CRAWL = 10_000
const CHUNK = 1_000
/** Pages that a fast crawl completes between two updates of the index. */
const CHANGED = 100
/** What the index may cost of a core: it is written every 2 s, and a crawl has four of them. */
const MOST_UPDATE_MS = 2_000 * 4 * 0.02
const WORDS =
  'a ferry leaves the harbour at seven and comes back with mail salt newspapers and whoever missed it'.split(' ')

/** The pages on disk: what a browser needs to show and search them, and what writing the index costs. */
export async function pages(rounds: number): Promise<Figure[]> {
  const shown = noBrowser ? [] : await inBrowser(rounds)
  if (noBrowser) console.log(`pages: nothing was shown ${noBrowser}`)
  return [...shown, await updates(rounds)]
}

async function inBrowser(rounds: number): Promise<Figure[]> {
  const dir = mkdtempSync(join(tmpdir(), 'archivebox-ts-bench-pages-'))
  const browser = await Browser.start()
  try {
    const files = writePages(dir)
    const figures: Figure[] = []
    for (const [what, file] of Object.entries(files)) {
      const values = { paint: [] as number[], whole: [] as number[], key: [] as number[] }
      for (let round = 0; round < rounds; round += 1) {
        const seen = await look(browser, file)
        values.paint.push(seen.paint)
        values.whole.push(seen.whole)
        values.key.push(...seen.keys)
      }
      const figure = (name: string, list: readonly number[], atMost: number): Figure => ({
        bench: 'pages',
        what: `${what}: ${name}`,
        unit: 'ms',
        values: list,
        target: { atMost, of: 'value' },
      })
      figures.push(
        figure('first paint', values.paint, 500),
        figure('the whole list', values.whole, 5_000),
        figure('a keystroke', values.key, 50),
      )
    }
    return figures
  } finally {
    await browser.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Opens a page, and types a word into its search field. */
async function look(browser: Browser, file: string) {
  await browser.open(file)
  await browser.until("/^[\\d,]+ pages$/.test(document.querySelector('#found').textContent)", 60)
  const { paint, whole } = await browser.evaluate<{ paint: number; whole: number }>(
    "({ paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0, whole: performance.now() })",
  )
  // From the letter to the picture that answers it.
  const keys = await browser.evaluate<number[]>(`(async () => {
    const field = document.querySelector('input[type=search]')
    const times = []
    for (const word of ['f', 'fe', 'fer', 'ferry', 'ferry 9', 'ferry 99', 'ferry 999']) {
      await new Promise((resolve) => setTimeout(resolve, 150))
      const begun = performance.now()
      field.value = word
      field.dispatchEvent(new Event('input', { bubbles: true }))
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
      times.push(performance.now() - begun)
    }
    return times
  })()`)
  return { paint, whole, keys }
}

/** An archive of PAGES pages, the latest of which are a crawl's. */
function writePages(dir: string): Record<string, string> {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
    return join(dir, path)
  }
  for (const { path, text } of Object.values(assetFiles())) write(path, text)
  const chunks: number[] = []
  for (let chunk = 0; chunk * CHUNK < PAGES; chunk += 1) {
    chunks.unshift(chunk)
    const lines = new Map<number, string>()
    for (let number = chunk * CHUNK; number < (chunk + 1) * CHUNK; number += 1) lines.set(number, lineOf(number))
    write(`archive/index/${chunk}.js`, chunkText(chunk, lines))
  }
  const counts = { queued: 0, started: 0, paused: 0, archived: OF_CRAWL, partial: 0, failed: 0 }
  const folder = 'archive/crawl'
  const crawl: CrawlPage = {
    ...{ id: 'crawl-1', folder, label: '', urls: ['https://a.example/'], urlsTotal: OF_CRAWL, firstTitle: null },
    ...{ pages: OF_CRAWL, tags: [], status: 'sealed', message: '', maxDepth: 0, counts, secondsLeft: null },
    ...{ createdAt: new Date(), writtenAt: new Date(0), wacz: undefined },
    chunks: chunks.slice(0, OF_CRAWL / CHUNK),
  }
  const archive = { crawls: [], totalCrawls: 0, totalBytes: 1, index: { chunks, pages: PAGES } }
  return {
    [`archive of ${PAGES}`]: write('index.html', archivePage(archive, onDisk(dir, ''))),
    [`crawl of ${OF_CRAWL}`]: write(`${folder}/index.html`, crawlPage(crawl, onDisk(dir, folder))),
  }
}

function lineOf(number: number): string {
  const text = Array.from({ length: 50 }, (_, at) => WORDS[(number * 7 + at * at) % WORDS.length]).join(' ')
  const id = String(number).padStart(12, '0')
  return chunkLine({
    number,
    node: '',
    crawlId: number >= PAGES - OF_CRAWL ? 'crawl-1' : 'crawl-0',
    sealedAt: new Date(1_700_000_000_000 + number * 1_000),
    outcome: number % 50 === 0 ? 'failed' : 'archived',
    tags: [`tag-${number % 20}`],
    cause: number % 50 === 0 ? `HTTP ${500 + (number % 5)}` : null,
    httpStatus: 200,
    path: `archive/snapshots/20260101/site-${number % 700}.example/0199a7b1-0000-7000-8000-${id}`,
    icon: 'favicon/favicon.ico',
    picture: '',
    size: number * 17,
    url: `https://site-${number % 700}.example/part/of/it/${number}.html`,
    title: `Page ${number} of ${WORDS[number % WORDS.length]}`,
    text,
  })
}

/** What one update of the index takes, in a large archive: of this process, the database beside it. */
async function updates(rounds: number): Promise<Figure> {
  const values = await withHome(async (home) => {
    await makeLargeArchive(home.db, PAGES)
    while (!(await writeArchivePage(home)));
    const times: number[] = []
    for (let round = -1; round < rounds; round += 1) {
      await change(home, round)
      const begun = performance.now()
      await writeArchivePage(home)
      if (round >= 0) times.push(performance.now() - begun)
    }
    return times
  })
  return {
    bench: 'pages',
    what: `index, ${CHANGED} of ${PAGES} pages changed`,
    unit: 'ms',
    values,
    target: { atMost: MOST_UPDATE_MS, of: 'value' },
  }
}

/** The latest pages that are open come to their end. */
async function change({ db }: Home, round: number): Promise<void> {
  await sql`
    update snapshot set status = 'sealed', retry_at = null, outcome = 'archived', title = ${`page ${round}`}
    where id in (select id from snapshot where status = 'queued' order by id limit ${CHANGED})`.execute(db)
}
