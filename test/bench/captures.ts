import { once } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { type Browser, unpackBrowser } from '../../src/browse/browser/packaged.ts'
import type { Home } from '../../src/db/home.ts'
import { type RoleUsage, TreeWatch } from './cpu.ts'
import { installRivals } from './engine-rivals.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { archivebox, cleanEnv, MAIN, startNode } from './program.ts'
import { withSite } from './site.ts'

const PAGES = 100
/** A crawl as long as people's are: what is left behind on every page would be seen. */
const MANY = 500
const AT_ONCE = 4
/** A browser for a page takes seconds. */
const COLD = 24
const PLUGINS = 'chrome,mhtml,screenshot,pdf,dom,title'

/** One way to capture pages: how fast, and the most memory of all its processes. */
interface Captured {
  readonly perSecond: number
  readonly mb: number
}

/**
 * A crawl whose pages are taken with a browser, beside a bare puppeteer-core script with the same browser, and beside
 * one cold browser a page.
 */
export async function captures(rounds: number): Promise<Figure[]> {
  const ours: Captured[] = []
  const bare: Captured[] = []
  const cold: Captured[] = []
  const recorded: Captured[] = []
  const many: Captured[] = []
  await withSite(PAGES + MANY, async (site) => {
    const urls = Array.from({ length: PAGES + MANY }, (_, index) => `${site}/page-${index + 1}.html`)
    for (let round = 0; round < rounds; round += 1) {
      await withHome(async (home) => {
        const browser = await unpackBrowser(join(home.dataDir, 'lib'))
        if (!browser) throw new Error('@sparticuz/chromium is not installed')
        await firstPage(home, site)
        ours.push(await captured(home, PLUGINS, urls.slice(0, PAGES)))
        bare.push(await byScript(home.dataDir, browser, 'warm', urls.slice(0, PAGES)))
        cold.push(await byScript(home.dataDir, browser, 'cold', urls.slice(0, COLD)))
        if (round === 0) many.push(await captured(home, PLUGINS, urls.slice(PAGES)))
      })
      await withHome(async (home) => {
        await firstPage(home, site)
        recorded.push(await captured(home, `${PLUGINS},warc,wacz`, urls.slice(0, PAGES)))
      })
    }
  })
  const rates = (all: readonly Captured[]) => all.map(({ perSecond }) => perSecond)
  const what = `pages with MHTML, screenshots, PDF, DOM, title; ${AT_ONCE} at once`
  const rate = { bench: 'captures', what, unit: 'pages/s', values: rates(ours) } as const
  const beyond = ours.map(({ mb }, round) => mb - bare[round]!.mb)
  return [
    {
      ...rate,
      rival: { name: 'bare puppeteer-core', values: rates(bare) },
      target: { atLeast: 0.9, of: 'ratio' },
    },
    { ...rate, rival: { name: 'a cold browser a page', values: rates(cold) }, target: { atLeast: 4, of: 'ratio' } },
    {
      bench: 'captures',
      what: 'the same with WARC and WACZ',
      unit: 'pages/s',
      values: rates(recorded),
      rival: { name: 'without', values: rates(ours) },
      target: { atLeast: 0.85, of: 'ratio' },
    },
    {
      bench: 'captures',
      what: 'memory at the peak, the browser included',
      unit: 'MB',
      values: ours.map(({ mb }) => mb),
    },
    {
      bench: 'captures',
      what: 'memory beyond the bare script',
      unit: 'MB',
      values: beyond,
      target: { atMost: 200, of: 'value' },
    },
    {
      bench: 'captures',
      what: `memory of ${MANY} pages beyond that of ${PAGES}`,
      unit: 'MB',
      values: many.map(({ mb }) => mb - ours[0]!.mb),
    },
    { bench: 'captures', what: `${MANY} pages`, unit: 'pages/s', values: rates(many) },
  ]
}

/** A data dir unpacks its browser once, for the account that hooks run as: not in the time of the pages after it. */
const firstPage = ({ dataDir }: Home, site: string) =>
  archivebox(dataDir, 'add', '--run', '--plugins', 'chrome,title', `${site}/?first`)

/** By a crawl of ours. Throws when a page is missing, or when anything of the browser is left behind. */
async function captured({ db, dataDir }: Home, plugins: string, urls: readonly string[]): Promise<Captured> {
  const temporary = join(dataDir, 'tmp')
  mkdirSync(temporary, { recursive: true })
  const env = { ...cleanEnv, MAX_SNAPSHOT_WORKERS: String(AT_ONCE), TMPDIR: temporary }
  const { stdout } = await archivebox(dataDir, 'add', '--json', '--plugins', plugins, ...urls)
  const { id } = JSON.parse(stdout) as { id: string }
  const runner = startNode([MAIN, '--data-dir', dataDir, 'run', '--exit-on-idle', '--daemon'], { env, stdio: 'ignore' })
  const watch = new TreeWatch(runner.pid!, dataDir)
  await once(runner, 'exit')
  const roles = watch.end()
  console.log(tableOf(roles, urls.length))
  const { rows } = await sql<{ pages: number; seconds: number }>`
    select (select count(*) from snapshot where crawl_id = ${id} and outcome = 'archived') as pages,
      extract(epoch from max(at) filter (where to_status = 'sealed') -
        min(at) filter (where to_status = 'started'))::float8 as seconds
    from transition where model = 'crawl' and row_id = ${id}`.execute(db)
  if (Number(rows[0]?.pages) !== urls.length) throw new Error(`${rows[0]?.pages} pages were archived`)
  const left = readdirSync(temporary)
  if (left.length > 0) throw new Error(`left in the temporary directory: ${left.join(', ')}`)
  return { perSecond: urls.length / rows[0]!.seconds, mb: roles.reduce((sum, { pssMb }) => sum + pssMb, 0) }
}

/** By a script that does nothing else, with one browser for all pages, or one for each. */
async function byScript(
  dataDir: string,
  browser: Browser,
  warmth: 'warm' | 'cold',
  urls: readonly string[],
): Promise<Captured> {
  const folder = join(dataDir, warmth)
  mkdirSync(folder)
  const { FONTCONFIG_FILE: fonts = '', LD_LIBRARY_PATH: libraries = '' } = browser.env
  const script = join(import.meta.dirname, 'captures-bare.mjs')
  const args = [script, installRivals(), browser.program, fonts, libraries, folder, String(AT_ONCE), warmth, ...urls]
  const begun = performance.now()
  const child = startNode(args, { stdio: 'ignore' })
  const watch = new TreeWatch(child.pid!)
  const [code] = await once(child, 'exit')
  const seconds = (performance.now() - begun) / 1000
  if (code !== 0) throw new Error(`the bare script ended with ${code}`)
  return { perSecond: urls.length / seconds, mb: watch.end().reduce((sum, { pssMb }) => sum + pssMb, 0) }
}

const tableOf = (roles: readonly RoleUsage[], pages: number) =>
  roles
    .toSorted((a, b) => b.ms - a.ms)
    .map(
      ({ role, count, ms, pssMb }) =>
        `  ${role.padEnd(18)} ${count}  ${(ms / pages).toFixed(1)} ms a page  ${pssMb.toFixed(0)} MB`,
    )
    .join('\n')
