// What a page has published is on disk before the page leaves its worker, sealed or not: whoever takes it up later, on
// a machine that was cut off meanwhile, believes its results.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { HostJob, HostReply } from '../../../src/hooks/host-protocol.ts'
import { pagesOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { hook, plugin } from '../../support/plugins.ts'
import { eventually } from '../../support/program.ts'
import { queuedPages, runAll } from '../../support/queued.ts'
import { records } from '../../support/records.ts'
import { type Site, startSite } from '../../support/site.ts'

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
     import { syncBuiltinESMExports } from 'node:module'
     const { fsync } = fs
     fs.fsync = (fd, done) => {
       fs.appendFileSync(${JSON.stringify(`${spy}.log`)}, fs.readlinkSync('/proc/self/fd/' + fd) + '\\n')
       fsync(fd, done)
     }
     syncBuiltinESMExports()`,
  )
  return { NODE_OPTIONS: `--import ${pathToFileURL(spy)}` }
}

/** The files and folders that were flushed by processes with that spy. */
function flushed({ dataDir }: TestHome): readonly string[] {
  const log = join(dataDir, 'spy.mjs.log')
  return existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : []
}

it('what hooks of a row wrote is on disk when their host answers', async () => {
  const home = await homes.make()
  const wrote = join(home.dataDir, 'wrote.mjs')
  writeFileSync(
    wrote,
    `import { mkdirSync, writeFileSync } from 'node:fs'
     export default { run: async ({ outputDir }) => {
       if (outputDir.endsWith('nothing')) return { status: 'noresults', output: '' }
       mkdirSync(outputDir + '/below', { recursive: true })
       for (const name of ['a', 'below/b']) writeFileSync(outputDir + '/' + name, name)
       return { status: 'succeeded', output: '' }
     } }`,
  )
  const places = ['first', 'nothing', 'last'].map((name) => join(home.dataDir, name))
  const job: HostJob = {
    url: site.url,
    env: {},
    log: join(home.dataDir, 'hosted.txt'),
    hooks: places.map((outputDir) => ({
      path: wrote,
      outputDir,
      flush: true,
      env: {},
      name: outputDir,
      timeoutMs: 10_000,
    })),
  }
  const host = fork('src/hooks/host-process.ts', { env: { ...process.env, ...spied(home) } })
  const answered = once(host, 'message')
  host.send(job)
  const [reply] = (await answered) as [HostReply]
  const exited = once(host, 'exit')
  host.disconnect()
  await exited
  expect(reply.outcomes.map(({ code, isFlushed }) => [code, isFlushed])).toEqual(places.map(() => [0, true]))
  const [first, , last] = places
  const written = [first!, last!].flatMap((place) => ['', 'a', 'below', 'below/b'].map((path) => join(place, path)))
  expect([...flushed(home)].sort()).toEqual(written.sort())
})

it('a sealed page is flushed with its index', async () => {
  const home = await homes.make()
  const crawl = await home.add('--plugins', 'html', `${site.url}/page-1.html`)
  const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: spied(home) })
  expect(code, stderr).toBe(0)
  const [page] = await pagesOf(home, crawl)
  const folder = join(home.dataDir, page!.output_dir)
  const ofPage = flushed(home).filter((path) => path.startsWith(folder))
  // The files of hooks are flushed by their host, which does not get that spy.
  expect(ofPage.sort()).toEqual([folder, join(folder, 'index.html'), join(folder, 'index.jsonl')])
})

it('the folder of a page that waits, is paused or is cancelled is flushed', async () => {
  const home = await homes.make()
  const env = spied(home)
  const urls = [1, 2].map((number) => `${site.url}/page-${number}.html`)
  plugin(home, 'ends', 'case "$1" in *page-1*) exit 75 ;; esac; exec sleep 1000')
  await queuedPages(home, urls)
  await home.query(`update crawl set config = '{"plugins": ["html", "ends"]}'`)
  const pages = await home.query<{ id: string; output_dir: string }>('select id, output_dir from snapshot order by url')
  const [waits, works] = pages
  const isFlushed = ({ output_dir }: { output_dir: string }) => flushed(home).includes(join(home.dataDir, output_dir))

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

  rmSync(join(home.dataDir, 'spy.mjs.log'))
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
