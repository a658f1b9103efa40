import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../support/archive.ts'
import { newFolder, TestHome } from '../support/homes.ts'
import { expectOneAtATime, sealedPages } from '../support/observer.ts'
import { killAll, processesOf } from '../support/processes.ts'
import { eventually, program } from '../support/program.ts'
import { brokenPromises } from '../support/promises.ts'
import { pages, type Site, startSite } from '../support/site.ts'

const PAGES = 20
let site: Site
let dataDir: string
let home: TestHome

beforeAll(async () => {
  site = await startSite(pages(PAGES))
  dataDir = newFolder()
  expect((await cli('init')).code).toBe(0)
  await cli('db', 'start')
  home = new TestHome(dataDir, (await cli('db', 'url')).stdout.trim(), { DATABASE_URL: '' })
})
afterAll(async () => {
  await home.close()
  await cli('db', 'stop', '--force')
  const left = processesOf(dataDir)
  killAll(left)
  rmSync(dataDir, { recursive: true, force: true })
  await site.close()
  expect(left).toEqual([])
})

const cli = (...args: string[]) => program(args, { env: { DATA_DIR: dataDir } })

describe('the embedded server', () => {
  it('killed with -9 in the middle of a crawl loses nothing that was committed, and the next run completes', async () => {
    home.install('oracle')
    const embedded = { env: { DATABASE_URL: '' } }
    const added = await home.run(['add', '--depth', '1', '--plugins', 'html,title,parse_html_urls,hashes,oracle', `${site.url}/`], embedded)
    const { id: crawl } = JSON.parse(added.stdout) as { id: string }
    const first = home.start(['run', '--exit-on-idle'], embedded)
    await sealedPages(home, 4)
    const sealed = await home.query<{ id: string }>("select id from snapshot where status = 'sealed'")
    const postmaster = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(postmaster, 'SIGKILL')
    await first.says(/the database is away/)

    const second = await home.run(['run', '--exit-on-idle'], { ...embedded, deadlineMs: 120_000 })
    expect(second.code, second.stderr).toBe(0)
    const { code, stderr } = await first.finished()
    expect(code, stderr).toBe(0)
    expect((await cli('db', 'start')).code).toBe(0)
    expect(await expectComplete(home, crawl)).toHaveLength(PAGES + 1)
    expect((await resultsOf(home, crawl)).filter(({ status }) => status !== 'succeeded')).toEqual([])
    const kept = await home.value('select count(*)::int from snapshot where id = any($1)', [sealed.map(({ id }) => id)])
    expect(kept).toBe(sealed.length)
    expectOneAtATime(home)
    expect(await brokenPromises(home)).toEqual([])
    const programs = () => processesOf(dataDir).filter(({ command }) => !command.includes('postgres'))
    await eventually(() => programs().length === 0, 5_000).catch(() => {})
    expect(programs()).toEqual([])
  })
})
