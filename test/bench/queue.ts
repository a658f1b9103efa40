import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { NPM_ONLY } from './plugins.ts'
import { archivebox } from './program.ts'
import { startRunner, stop } from './runner.ts'
import { withSite } from './site.ts'

/** Pages that are archived, of so many and of a hundred times as many. */
const PAGES = 1_000
const QUEUED = 100_000
/** Left out: the first ones, which workers start for. */
const FIRST = 50
const LOOK_MS = 20

/** The first pages of a long list, while the rest of it becomes pages, beside a list of just these. */
export async function queue(rounds: number): Promise<Figure[]> {
  const [long, short]: [number[], number[]] = [[], []]
  await withSite(PAGES, async (site) => {
    for (let round = 0; round < rounds; round += 1) {
      short.push(await withHome((home) => speedOf(home, site, PAGES)))
      long.push(await withHome((home) => speedOf(home, site, QUEUED)))
    }
  })
  return [
    {
      bench: 'queue',
      what: `the first ${PAGES} of ${QUEUED} queued`,
      unit: 'pages/s',
      values: long,
      rival: { name: `${PAGES} queued`, values: short },
      target: { atLeast: 0.9, of: 'ratio' },
    },
  ]
}

/** Pages a second, of the first ones of a list. */
async function speedOf(home: Home, site: string, urls: number): Promise<number> {
  const file = join(home.dataDir, 'list.txt')
  const urlOf = (n: number) => `${site}/page-${(n % PAGES) + 1}.html${n < PAGES ? '' : `?again=${n}`}`
  writeFileSync(file, Array.from({ length: urls }, (_, n) => `${urlOf(n)}\n`).join(''))
  await archivebox(home.dataDir, 'add', ...NPM_ONLY, '--file', file)
  const runner = startRunner(home)
  try {
    await sealed(home, FIRST)
    const begun = performance.now()
    await sealed(home, PAGES - FIRST)
    return (PAGES - 2 * FIRST) / ((performance.now() - begun) / 1000)
  } finally {
    await stop(runner)
  }
}

async function sealed({ db }: Home, pages: number): Promise<void> {
  const look = sql`select from snapshot where status = 'sealed' offset ${pages - 1} limit 1`
  while ((await look.execute(db)).rows.length === 0) await delay(LOOK_MS)
}
