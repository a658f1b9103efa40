import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import type { Figure } from './figures.ts'
import { emptyDataDir, removeDataDir, withHome } from './home.ts'
import { archivebox, until } from './program.ts'
import { startRunner, stop } from './runner.ts'

const CRAWLS = 12
/** So many that the commands that add them count for little. */
const PAGES = 30
/** A site far away: a page waits for its answer, not for a core, since here all nodes share the same cores. */
const ANSWER_MS = 700

/** How fast twelve crawls of slow sites are with two nodes on one database, beside one. */
export async function nodes(rounds: number): Promise<Figure[]> {
  const one: number[] = []
  const two: number[] = []
  await withSlowSites(async (port) => {
    for (let round = 0; round < rounds; round += 1) {
      one.push(await withHome((home) => pagesPerSecond(home, port, 1)))
      two.push(await withHome((home) => pagesPerSecond(home, port, 2)))
    }
  })
  return [
    {
      bench: 'nodes',
      what: `${CRAWLS} crawls of slow sites on two nodes`,
      unit: 'pages/s',
      values: two,
      rival: { name: 'one node', values: one },
      target: { atLeast: 1.8, of: 'ratio' },
    },
  ]
}

/** From when all nodes lead to when all crawls are sealed. */
async function pagesPerSecond(home: Home, port: number, count: number): Promise<number> {
  const dirs = Array.from({ length: count }, emptyDataDir)
  try {
    for (const dir of dirs) appendFileSync(join(dir, 'archivebox.toml'), `DATABASE_URL = "${home.databaseUrl}"\n`)
    const runners = dirs.map((dataDir) => startRunner({ ...home, dataDir }))
    try {
      await Promise.all(runners.map(({ leading }) => leading))
      const begun = performance.now()
      for (let crawl = 1; crawl <= CRAWLS; crawl += 1) {
        const urls = Array.from({ length: PAGES }, (_, page) => `http://127.0.1.${crawl}:${port}/${page}`)
        await archivebox(dirs[0]!, 'add', '--plugins', 'html,title', ...urls)
      }
      await until('the crawls', 100, async () => {
        const { rows } = await sql`select 1 from crawl where status <> 'sealed' limit 1`.execute(home.db)
        return rows.length === 0 || undefined
      })
      return (CRAWLS * PAGES) / ((performance.now() - begun) / 1_000)
    } finally {
      await Promise.all(runners.map((runner) => stop(runner)))
    }
  } finally {
    for (const dir of dirs) await removeDataDir(dir)
  }
}

async function withSlowSites(work: (port: number) => Promise<void>): Promise<void> {
  const server = createServer((request, response) => {
    const body = `<title>Page ${request.url}</title><p>${'Some words. '.repeat(200)}</p>`
    setTimeout(() => response.setHeader('content-type', 'text/html').end(body), ANSWER_MS)
  }).listen(0)
  await once(server, 'listening')
  try {
    await work((server.address() as AddressInfo).port)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}
