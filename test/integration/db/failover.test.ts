import { rmSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete, pagesOf, resultsOf } from '../../support/archive.ts'
import { newFolder, TestHome } from '../../support/homes.ts'
import { sealedCrawl } from '../../support/observer.ts'
import { holdingPlugin } from '../../support/plugins.ts'
import { endLeft } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { usePair } from '../../support/replicated.ts'
import { type Site, startSite } from '../../support/site.ts'

// One server with a standby, in the order of the tests: they are steps of one story.
const pair = usePair()
const dataDir = newFolder()
let site: Site
let home: TestHome

beforeAll(async () => {
  site = await startSite(2)
  home = new TestHome(dataDir, pair.urlOf('primary'), {})
  expect((await home.run(['init'])).code).toBe(0)
})
afterAll(async () => {
  await home.close()
  expect(await endLeft(dataDir)).toEqual([])
  rmSync(dataDir, { recursive: true, force: true })
  await site.close()
})

async function failoverLine(): Promise<{ status: string; message: string; command: string | null }> {
  const { stdout } = await home.run(['doctor'])
  return stdout
    .split('\n')
    .filter((line) => line.includes('"failover"'))
    .map((line) => JSON.parse(line))[0]
}

/** Statements on a connection of their own: a new session has the new settings. */
async function set(...statements: string[]): Promise<void> {
  const client = new pg.Client(pair.urlOf('primary'))
  await client.connect()
  for (const statement of [...statements, 'select pg_reload_conf()']) await client.query(statement)
  await client.end()
}
const standbys = (state: string) =>
  eventually(() => home.value<boolean>('select count(*) = 1 from pg_stat_replication where sync_state = $1', [state]))

describe('doctor', () => {
  it('says that commits wait for no standby, and what a failover loses', async () => {
    await standbys('async')
    expect(await failoverLine()).toMatchObject({
      status: 'yellow',
      message: expect.stringMatching(/^asynchronous, 1 standby: after a failover pages .* are archived again/),
      command: "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'",
    })
  })

  it('says that commits wait for one, unless ours do not', async () => {
    await set("alter system set synchronous_standby_names = 'ANY 1 (second)'")
    await standbys('quorum')
    expect(await failoverLine()).toMatchObject({
      status: 'green',
      message: 'synchronous (ANY 1 (second), synchronous_commit on): a failover loses nothing',
    })
    for (const [commit, says] of [
      ['local', /^asynchronous, as synchronous_commit is local/],
      ['off', /^synchronous_commit is off/],
      ['remote_write', /unless the standby’s machine crashes, too$/],
    ] as const) {
      await set(`alter database postgres set synchronous_commit = ${commit}`)
      expect((await failoverLine()).message).toMatch(says)
    }
    await set('alter database postgres reset synchronous_commit')
  })

  it('says that all wait for one that is not there', async () => {
    await pair.stop('standby')
    expect(await failoverLine()).toMatchObject({
      status: 'yellow',
      message: expect.stringContaining('every commit waits'),
    })
    await pair.start('standby')
    await set('alter system reset synchronous_standby_names')
    await standbys('async')
  })
})

describe('a failover that lost the seal of a page', () => {
  it('archives it again in its folder; what was added since is gone, and `verify --mend` puts its folder aside', async () => {
    const held = holdingPlugin(home, 'held')
    const crawl = await home.add('--plugins', 'html,held', `${site.url}/page-1.html`)
    const first = home.start(['run'])
    await eventually(() => home.value<boolean>("select count(*) = 1 from archive_result where status = 'succeeded'"))
    const lsn = await home.value<string>('select pg_current_wal_lsn()')
    const standby = new TestHome(dataDir, pair.urlOf('standby'), {})
    await eventually(() => standby.value<boolean>('select pg_last_wal_replay_lsn() >= $1', [lsn]))
    await standby.close()
    await pair.stop('standby')
    held.letGo()
    await sealedCrawl(home, crawl)
    const lost = await home.add('--plugins', 'html', `${site.url}/page-2.html`)
    await sealedCrawl(home, lost)
    first.signal('SIGTERM')
    expect((await first.finished()).code, first.stderr).toBe(0)
    await home.close()
    await pair.stop('primary')
    await pair.start('standby')
    await pair.promote()

    home = new TestHome(dataDir, pair.urlOf('standby'), {})
    expect((await pagesOf(home, crawl)).map(({ status }) => status)).toEqual(['started'])
    const second = home.start(['run'])
    await sealedCrawl(home, crawl)
    second.signal('SIGTERM')
    expect((await second.finished()).code, second.stderr).toBe(0)
    expect((await resultsOf(home, crawl)).map(({ plugin, status }) => [plugin, status])).toEqual([
      ['html', 'succeeded'],
      ['held', 'succeeded'],
    ])
    await expectComplete(home, crawl)
    expect(await pagesOf(home, lost)).toEqual([])
    const { code, stdout } = await home.run(['verify'])
    expect([code, stdout.split('\n').filter((line) => line.startsWith('{'))]).toEqual([
      1,
      ['snapshot', 'crawl'].map((whose) => expect.stringContaining(`no ${whose} has this folder`)),
    ])
    expect((await home.run(['verify', '--mend'])).code).toBe(0)
    const verified = await home.run(['verify'])
    expect(verified.code, verified.stdout + verified.stderr).toBe(0)
  })
})
