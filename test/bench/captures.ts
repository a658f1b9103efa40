import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Home } from '../../src/db/home.ts'
import { unpackBrowser } from '../../src/plugins/base/browser/packaged.ts'
import { type RoleUsage, TreeWatch } from './cpu.ts'
import { installRivals } from './engine-rivals.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { archivebox, cleanEnv, MAIN, runNode, startNode } from './program.ts'
import { withSite } from './site.ts'

const PAGES = 100
const AT_ONCE = 4
const PLUGINS = 'chrome,mhtml,screenshot,pdf,dom,title'

/** A crawl whose pages are taken with a browser, beside a bare puppeteer-core script with the same browser. */
export async function captures(rounds: number): Promise<Figure[]> {
  const ours: number[] = []
  const memory: number[] = []
  const recorded: number[] = []
  const bare: number[] = []
  const rivals = installRivals()
  await withSite(PAGES, async (site) => {
    const urls = Array.from({ length: PAGES }, (_, index) => `${site}/page-${index + 1}.html`)
    for (let round = 0; round < rounds; round += 1) {
      await withHome(async (home) => {
        const { dataDir } = home
        const browser = await unpackBrowser(join(dataDir, 'lib'))
        if (!browser) throw new Error('@sparticuz/chromium is not installed')
        const { rate, mb } = await crawled(home, PLUGINS, urls)
        ours.push(rate)
        memory.push(mb)
        const folder = join(dataDir, 'bare')
        mkdirSync(folder)
        const { FONTCONFIG_FILE: fonts = '', LD_LIBRARY_PATH: libraries = '' } = browser.env
        const script = join(import.meta.dirname, 'captures-bare.mjs')
        const { ms } = await runNode([
          script,
          rivals,
          browser.program,
          fonts,
          libraries,
          folder,
          String(AT_ONCE),
          ...urls,
        ])
        bare.push((PAGES / ms) * 1000)
      })
      await withHome(async (home) => {
        await unpackBrowser(join(home.dataDir, 'lib'))
        recorded.push((await crawled(home, `${PLUGINS},warc,wacz`, urls)).rate)
      })
    }
  })
  return [
    {
      bench: 'captures',
      what: `pages with MHTML, screenshots, PDF, DOM, title; ${AT_ONCE} at once`,
      unit: 'pages/s',
      values: ours,
      rival: { name: 'bare puppeteer-core', values: bare },
      target: { atLeast: 0.9, of: 'ratio' },
    },
    {
      bench: 'captures',
      what: 'the same with WARC and WACZ',
      unit: 'pages/s',
      values: recorded,
      rival: { name: 'without', values: ours },
      target: { atLeast: 0.85, of: 'ratio' },
    },
    { bench: 'captures', what: 'memory at the peak, the browser included', unit: 'MB', values: memory },
  ]
}

/** The pages per second of a crawl with these plugins, and its memory at the peak. */
async function crawled(
  { db, dataDir }: Home,
  plugins: string,
  urls: readonly string[],
): Promise<{ rate: number; mb: number }> {
  const env = { ...cleanEnv, MAX_SNAPSHOT_WORKERS: String(AT_ONCE) }
  await archivebox(dataDir, 'add', '--plugins', plugins, ...urls)
  const runner = startNode([MAIN, '--data-dir', dataDir, 'run', '--exit-on-idle', '--daemon'], { env, stdio: 'ignore' })
  const watch = new TreeWatch(runner.pid!, dataDir)
  await once(runner, 'exit')
  const roles = watch.end()
  console.log(tableOf(roles))
  const { rows } = await sql<{ pages: number; seconds: number }>`
    select (select count(*) from snapshot where outcome = 'archived') as pages,
      extract(epoch from max(at) filter (where to_status = 'sealed') -
        min(at) filter (where to_status = 'started'))::float8 as seconds
    from transition where model = 'crawl'`.execute(db)
  if (Number(rows[0]?.pages) !== PAGES) throw new Error(`${rows[0]?.pages} pages were archived, not ${PAGES}`)
  return { rate: PAGES / rows[0]!.seconds, mb: roles.reduce((sum, { pssMb }) => sum + pssMb, 0) }
}

const tableOf = (roles: readonly RoleUsage[]) =>
  roles
    .toSorted((a, b) => b.ms - a.ms)
    .map(
      ({ role, count, ms, pssMb }) =>
        `  ${role.padEnd(18)} ${count}  ${(ms / PAGES).toFixed(1)} ms a page  ${pssMb.toFixed(0)} MB`,
    )
    .join('\n')
