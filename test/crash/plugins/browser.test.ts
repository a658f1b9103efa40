import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { pidsOf, sealedCrawl } from '../../support/observer.ts'
import { plugin, requiring, setUpHook } from '../../support/plugins.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
const PLUGINS = ['browser', 'recorder', 'scroll', 'shot', 'late']
let site: Site

beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

/** How each hook of a crawl's page ended. */
async function endsOf(home: TestHome, crawl: string): Promise<Record<string, unknown>> {
  await expectComplete(home, crawl)
  const results = await resultsOf(home, crawl)
  return Object.fromEntries(
    results.map(({ hook_name, status, output_str, output_files }) => [
      hook_name,
      { status, output_str, files: Object.keys(output_files) },
    ]),
  )
}

it('a page that was disturbed while a browser was at it ends as any other', async () => {
  const home = await homes.make()
  home.install(...PLUGINS)
  const add = async () => await home.add('--plugins', PLUGINS.join(), `${site.url}/page-1.html`)
  let runner: Running = home.start(['run'])
  const undisturbed = await add()
  await sealedCrawl(home, undisturbed)
  const ends = await endsOf(home, undisturbed)
  expect(ends).toMatchObject({
    'on_Snapshot__21_recorder.daemon.bg.js': { status: 'succeeded', output_str: 'go,scroll', files: ['events.txt'] },
    'on_Snapshot__52_late.js': { status: 'succeeded', files: ['late.txt'] },
  })
  const kill = async (kind: 'snapshot' | 'crawl') => {
    process.kill((await pidsOf(home, kind)).at(-1)!, 'SIGKILL')
  }
  const killProcess = (command: string) => {
    for (const seen of processesOf(home.dataDir)) if (seen.command.includes(command)) process.kill(seen.pid, 'SIGKILL')
  }
  const disturbances: Record<string, () => Promise<void>> = {
    'its worker was killed': () => kill('snapshot'),
    'the worker of its crawl was killed': () => kill('crawl'),
    'the browser was killed': async () => killProcess('browser/browser.js'),
    'the hook that runs the browser was killed': async () => killProcess('on_CrawlSetup__90_browser'),
    'its runner was killed': async () => {
      process.kill(runner.pid, 'SIGKILL')
      await runner.finished()
      runner = home.start(['run'])
    },
    'another runner took over': async () => {
      const older = runner
      runner = home.start(['run', '--handoff-grace', '1'])
      await older.finished()
    },
  }
  for (const [what, disturb] of Object.entries(disturbances)) {
    const hold = join(home.dataDir, 'hold-late')
    writeFileSync(hold, '')
    const crawl = await add()
    const isHeld = `select count(*) = 1 from archive_result r join snapshot s on s.id = r.snapshot_id
      where s.crawl_id = $1 and r.plugin = 'late' and r.status = 'started'`
    await eventually(() => home.value<boolean>(isHeld, [crawl]))
    await disturb()
    rmSync(hold)
    await sealedCrawl(home, crawl)
    expect(await endsOf(home, crawl), what).toEqual(ends)
  }
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
  expect(processesOf(home.dataDir)).toEqual([])
})

it('a service that keeps ending is given up after a few starts, and the page goes on without it', async () => {
  const home = await homes.make()
  setUpHook(home, 'dies', '90_dies.daemon.bg.sh', 'echo started >>"$DATA_DIR/starts"; echo ready; sleep 0.3; exit 3')
  plugin(home, 'needs_dies', 'sleep 1; exit 1')
  requiring(home, 'needs_dies', 'dies')
  plugin(home, 'other', 'echo other >other.txt')
  const crawl = await home.add('--plugins', 'dies,needs_dies,other', `${site.url}/page-1.html`)
  const { code, stderr } = await home.run(['run', '--exit-on-idle'])
  expect(code, stderr).toBe(0)
  expect(await endsOf(home, crawl)).toEqual({
    'on_Snapshot__40_needs_dies.sh': { status: 'skipped', output_str: 'needs dies, which failed', files: [] },
    'on_Snapshot__40_other.sh': { status: 'succeeded', output_str: '', files: ['other.txt'] },
  })
  expect(readFileSync(join(home.dataDir, 'starts'), 'utf8').trim().split('\n')).toHaveLength(4)
})
