// What a page has published is on disk before the page leaves its worker, sealed or not: whoever takes it up later, on
// a machine that was cut off meanwhile, believes its results.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pagesOf } from '../support/archive.ts'
import { type TestHome, useHomes } from '../support/homes.ts'
import { hook, plugin } from '../support/plugins.ts'
import { eventually } from '../support/program.ts'
import { queuedPages, runAll } from '../support/queued.ts'
import { records } from '../support/records.ts'
import { type Site, startSite } from '../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(2)
})
afterAll(() => site.close())

/** Has each flush noted below the data dir. */
function spied({ dataDir }: TestHome): Readonly<Record<string, string>> {
  const spy = join(dataDir, 'spy.mjs')
  writeFileSync(
    spy,
    `import fs from 'node:fs'
     const { fsync } = fs
     fs.fsync = (fd, done) => {
       fs.appendFileSync(${JSON.stringify(`${spy}.log`)}, fs.readlinkSync('/proc/self/fd/' + fd) + '\\n')
       fsync(fd, done)
     }`,
  )
  return { NODE_OPTIONS: `--import ${pathToFileURL(spy)}` }
}

it('the folder of a page that waits, is paused or is cancelled is flushed', async () => {
  const home = await homes.make()
  const env = spied(home)
  const urls = [1, 2].map((number) => `${site.url}/page-${number}.html`)
  plugin(home, 'ends', 'case "$1" in *page-1*) exit 75 ;; esac; exec sleep 1000')
  await queuedPages(home, urls)
  await home.query(`update crawl set config = '{"plugins": ["html", "ends"]}'`)
  const pages = await home.query<{ id: string; output_dir: string }>('select id, output_dir from snapshot order by url')
  const [waits, works] = pages
  const log = join(home.dataDir, 'spy.mjs.log')
  const isFlushed = ({ output_dir }: { output_dir: string }) =>
    existsSync(log) && readFileSync(log, 'utf8').split('\n').includes(join(home.dataDir, output_dir))

  const runner = home.start(['run'], { env })
  const isAt = (status: string, { id }: { id: string }) =>
    home.value<boolean>(
      "select exists (select from archive_result where plugin = 'ends' and status = $1 and snapshot_id = $2)",
      [status, id],
    )
  await eventually(async () => (await isAt('backoff', waits!)) && (await isAt('started', works!)))
  await eventually(() => isFlushed(waits!))
  expect(isFlushed(works!)).toBe(false)
  await records(home, ['snapshot', 'pause', works!.id])
  await eventually(() => isFlushed(works!))
  await home.kill(runner)

  rmSync(log)
  expect((await home.run(['snapshot', 'cancel', works!.id], { env })).code).toBe(0)
  expect(pages.map(isFlushed)).toEqual([false, true])
})

it('what a page had found when its machine was cut off is not lost with the log', async () => {
  const home = await homes.make()
  hook(home, 'ends', '75_ends.sh', 'while [ -e "$DATA_DIR/hold" ]; do sleep 0.05; done')
  writeFileSync(join(home.dataDir, 'hold'), '')
  const crawl = await home.add('--depth', '1', '--plugins', 'html,parse_html_urls,ends', `${site.url}/page-1.html`)
  const runner = home.start(['run'])
  const isHeld = "select count(*) = 1 from archive_result where plugin = 'ends' and status = 'started'"
  await eventually(() => home.value<boolean>(isHeld))
  await home.kill(runner)
  const [page] = await pagesOf(home, crawl)
  rmSync(join(home.dataDir, page!.output_dir, '.logs'), { recursive: true })
  rmSync(join(home.dataDir, 'hold'))
  await runAll(home)
  expect((await pagesOf(home, crawl)).map(({ url }) => url)).toContain(`${site.url}/page-2.html`)
})
