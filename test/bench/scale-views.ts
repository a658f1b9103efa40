import { once } from 'node:events'
import { sql } from 'kysely'
import { workOf } from '../../src/app/status/work.ts'
import { addUpCounts } from '../../src/db/counts.ts'
import { crawlById } from '../../src/db/crawls.ts'
import type { Home } from '../../src/db/home.ts'
import { writeArchivePage, writeCrawlPage } from '../../src/workers/index/index-pages.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { type LargeArchive, makeLargeArchive } from './large-archive.ts'
import { MAIN, startNode } from './program.ts'

const PAGES = 1_000_000
/** What the most of it may cost above an empty archive. */
const MOST_MS = 100

/** What a person asks of a million pages and five million results, above what it takes of an empty archive. */
export async function scaleViews(rounds: number): Promise<Figure[]> {
  return await withHome(
    async (empty) =>
      await withHome(async (large) => {
        const begun = performance.now()
        const crawls = await makeLargeArchive(large.db, PAGES)
        await addUpCounts(large.db)
        await sql`vacuum analyze`.execute(large.db)
        const { rows } = await sql<{
          size: string
        }>`select pg_size_pretty(pg_database_size(current_database())) as size`.execute(large.db)
        console.log(`scale-views: made in ${((performance.now() - begun) / 1000).toFixed(0)} s, ${rows[0]!.size}`)
        const figures = await commands(rounds, empty, large, crawls)
        return [...figures, ...(await insides(rounds, large, crawls))]
      }),
  )
}

function asked({ old, open }: LargeArchive): readonly (readonly string[])[] {
  const newest = ['-n', '20']
  return [
    ['status'],
    ['crawl', 'list', ...newest],
    ['crawl', 'list', '--status', 'sealed', ...newest],
    ['crawl', 'list', '--plugin', 'rare', ...newest],
    ['snapshot', 'list', ...newest],
    ['snapshot', 'list', '--status', 'queued', ...newest],
    ['snapshot', 'list', '--status', 'queued,sealed', ...newest],
    ['snapshot', 'list', '--crawl-id', old, ...newest],
    ['snapshot', 'list', '--url__icontains', 'page-123456', ...newest],
    ['snapshot', 'list', '--url__icontains', 'EXAMPLE', ...newest],
    ['snapshot', 'list', '--url__icontains', 'site-77.', ...newest],
    ['snapshot', 'list', '--url__icontains', 'nowhere', ...newest],
    ['snapshot', 'list', '--host', 'site-77.example', ...newest],
    ['snapshot', 'list', '--host', 'site-77.example', '--outcome', 'failed', ...newest],
    ['snapshot', 'list', '--tag', 'few', ...newest],
    ['snapshot', 'list', '--tag', 'many', ...newest],
    ['snapshot', 'list', '--plugin', 'rare', ...newest],
    ['result', 'list', ...newest],
    ['result', 'list', '--status', 'failed', ...newest],
    ['result', 'list', '--status', 'failed,noresults', ...newest],
    ['result', 'list', '--plugin', 'rare', ...newest],
    ['result', 'list', '--plugin', 'html', '--status', 'failed', ...newest],
    ['result', 'list', '--crawl-id', old, ...newest],
    ['result', 'list', '--crawl-id', open, ...newest],
    ['result', 'list', '--crawl-id', old, '--status', 'failed', ...newest],
    ['result', 'list', '--url__icontains', 'page-123456', ...newest],
    ['result', 'list', '--host', 'site-77.example', ...newest],
    ['result', 'list', '--tag', 'few', ...newest],
    // Two filters: which way is short depends on both.
    ['snapshot', 'list', '--tag', 'many', '--status', 'queued', ...newest],
    ['result', 'list', '--tag', 'many', '--status', 'backoff', ...newest],
    ['result', 'list', '--tag', 'many', '--status', 'failed', ...newest],
    ['result', 'list', '--plugin', 'rare', '--status', 'failed', ...newest],
    ['result', 'list', '--plugin', 'rare', '--crawl-id', old, ...newest],
    ['result', 'list', '--outcome', 'failed', '--status', 'queued', ...newest],
    ['result', 'list', '--outcome', 'failed', '--status', 'failed', ...newest],
  ]
}

async function commands(rounds: number, empty: Home, large: Home, crawls: LargeArchive): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const args of asked(crawls)) {
    // An empty archive has none of these crawls, and answers that.
    const plain = args.includes('--crawl-id') ? [args[0]!, 'list'] : args
    const values: number[] = []
    for (let round = -1; round < rounds; round += 1) {
      const ms = (await answerMs(large, args)) - (await answerMs(empty, plain))
      if (round >= 0) values.push(ms)
    }
    const what = args.map((word) => (word.length === 36 ? word.slice(-4) : word)).join(' ')
    figures.push({ bench: 'scale-views', what, unit: 'ms', values, target: { atMost: MOST_MS, of: 'value' } })
  }
  return figures
}

/** How long a command takes. `status` says by its exit code that no runner is there. */
async function answerMs({ dataDir }: Home, args: readonly string[]): Promise<number> {
  const begun = performance.now()
  const child = startNode([MAIN, '--data-dir', dataDir, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0 && !(args[0] === 'status' && code === 3)) throw new Error(`${args.join(' ')} ended with ${code}`)
  return performance.now() - begun
}

/** What is asked again and again while a runner works. */
async function insides(rounds: number, home: Home, { old, open }: LargeArchive): Promise<Figure[]> {
  const crawl = (await crawlById(home.db, old))!
  while (!(await writeArchivePage(home))); // The first time everything has changed.
  const steps = {
    'line on the terminal, one crawl': () => workOf(home, open, 3),
    'line on the terminal, all crawls': () => workOf(home, undefined, 3),
    'page of the archive': () => writeArchivePage(home),
    'page of a crawl': () => writeCrawlPage(home, crawl.id, { ...crawl, status: 'sealed' }),
  }
  const figures: Figure[] = []
  for (const [what, step] of Object.entries(steps)) {
    const values: number[] = []
    for (let round = -1; round < rounds; round += 1) {
      const begun = performance.now()
      await step()
      if (round >= 0) values.push(performance.now() - begun)
    }
    figures.push({ bench: 'scale-views', what, unit: 'ms', values, target: { atMost: MOST_MS, of: 'value' } })
  }
  return figures
}
