import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { failpoints, fired } from '../../support/failpoints.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { pidsOf } from '../../support/observer.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, type Running } from '../../support/program.ts'
import { queuedPages, runAll } from '../../support/queued.ts'
import { records } from '../../support/records.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(2)
})
afterAll(() => site.close())

const urls = (count: number) => Array.from({ length: count }, (_, index) => `${site.url}/page-${index + 1}.html`)

describe('a page that is cancelled', () => {
  /** A runner in the middle of a hook that would run for ever. */
  async function inWork(): Promise<{
    home: TestHome
    page: string
    runner: Running
    dir: string
    atWork: () => boolean
  }> {
    const home = await homes.make()
    home.install('oracle')
    const { pages } = await queuedPages(home, urls(1))
    await home.query(`update crawl set config = '{"plugins": ["html", "oracle"], "env": {"ORACLE_SECONDS": "1000"}}'`)
    const runner = home.start(['run'])
    const atWork = () => processesOf(home.dataDir).some(({ command }) => command.includes('oracle'))
    await eventually(atWork)
    return {
      home,
      page: pages[0]!,
      runner,
      atWork,
      dir: join(home.dataDir, await home.value<string>('select output_dir from snapshot')),
    }
  }
  const PUBLISHED = ['.logs', 'html', 'index.html', 'index.jsonl']

  it('loses its hook, and nothing stays but what was published', async () => {
    const { home, page, runner, dir, atWork } = await inWork()
    await records(home, ['snapshot', 'cancel', page])
    await eventually(() => !atWork())
    await eventually(() => readdirSync(dir).sort().join() === PUBLISHED.join())
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
  })

  it('by a command that died before it could write that down is written by the next leader', async () => {
    const home = await homes.make()
    const { pages } = await queuedPages(home, urls(2))
    const cancel = await home.run(['snapshot', 'cancel', ...pages], {
      env: failpoints(home, 'publish.file_aside=kill9'),
    })
    expect(cancel.signal).toBe('SIGKILL')
    await runAll(home)
    for (const dir of await home.query<{ output_dir: string }>('select output_dir from snapshot'))
      expect(readdirSync(join(home.dataDir, dir.output_dir)).sort()).toEqual(['index.html', 'index.jsonl'])
  })

  it('after its last hook has their size and its title all the same', async () => {
    const home = await homes.make()
    await home.add('--plugins', 'html,title,hashes', ...urls(1))
    const step = 'publish.page_written'
    const runner = home.start(['run', '--exit-on-idle'], { env: failpoints(home, `${step}=stop`) })
    const worker = await eventually(() => fired(home).get(step))
    const page = await home.value<string>('select id from snapshot')
    await records(home, ['snapshot', 'cancel', page])
    process.kill(worker, 'SIGCONT')
    expect((await runner.finished()).code).toBe(0)
    const sum = await home.value<number>('select sum(output_size)::int from archive_result')
    expect(sum).toBeGreaterThan(0)
    const rows = await home.query('select status, title, output_size::int from snapshot')
    expect(rows).toEqual([{ status: 'sealed', title: 'Page 1', output_size: sum }])
  })

  it('whose worker died before it noticed is reconciled by the next leader', async () => {
    const { home, page, runner, dir } = await inWork()
    for (const pid of [runner.pid, ...(await pidsOf(home, 'crawl')), ...(await pidsOf(home, 'snapshot'))])
      process.kill(pid, 'SIGSTOP')
    await records(home, ['snapshot', 'cancel', page])
    expect(readdirSync(dir)).toContain('.work')
    runner.signal('SIGKILL')
    await runner.finished()
    await runAll(home)
    expect(readdirSync(dir).sort()).toEqual(PUBLISHED)
  })
})
