import { existsSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf } from '../../support/archive.ts'
import { useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(2)
})
afterAll(() => site.close())

describe('a delete that is killed between its files and its rows', () => {
  it.each(['crawl', 'snapshot'])('has deleted nothing: the next command puts everything back (%s)', async (noun) => {
    const home = await homes.make()
    const crawl = await home.add('--plugins', 'html,title', `${site.url}/page-1.html`)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    const [page] = await pagesOf(home, crawl)
    const isThere = () => existsSync(join(home.dataDir, page!.output_dir))

    // Its files are aside already when it comes to the rows, and there it has to wait.
    const blocker = new pg.Client({ connectionString: home.databaseUrl })
    blocker.on('error', () => {})
    await blocker.connect()
    await blocker.query('begin; select from transition for update')
    const deletion = home.start([noun, 'delete', '--yes', noun === 'crawl' ? crawl : page!.id])
    await eventually(() => !isThere())
    deletion.signal('SIGKILL')
    await deletion.finished()
    await blocker.end()

    await eventually(async () => (await home.run(['snapshot', 'list'])).code === 0 && isThere())
    await expectComplete(home, crawl)
    expect(existsSync(join(home.dataDir, 'archive/.deleted'))).toBe(false)
  })
})
