import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Log } from '../../../src/base/log.ts'
import { openDatabase } from '../../../src/db/database.ts'
import type { Home } from '../../../src/db/home.ts'
import type { RunOptions } from '../../../src/runner/options.ts'
import { resign } from '../../../src/runner/resign.ts'
import { DatabaseProxy } from '../../support/database-proxy.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'
import { Registry } from '../../support/registry.ts'

const homes = useHomes()
let home: TestHome
let registry: Registry
let proxy: DatabaseProxy
let behind: Home
let said: string[]

beforeEach(async () => {
  home = await homes.make()
  registry = await Registry.open(home)
  proxy = await DatabaseProxy.before(home.databaseUrl)
  behind = { ...registry.home, db: openDatabase(proxy.url, { name: 'the test' }) }
  said = []
})
afterEach(async () => {
  await behind.db.destroy()
  await proxy.close()
  await registry.close()
})

const options = () => {
  const log = new Log('test', ({ text }) => void said.push(text))
  return { id: registry.ownId, home: behind, log } as unknown as RunOptions
}
const row = () => registry.again({ id: registry.ownId })

describe('a runner that resigns', () => {
  it('tries again while the database is away, for longer than a single statement does', async () => {
    proxy.refuse()
    const resigned = resign(options(), 0)
    await eventually(() => proxy.refused > 6) // One statement is tried five times.
    proxy.pass()
    await resigned
    expect(await row()).toMatchObject({ status: 'exited', exit_code: 0 })
    expect(said).toEqual([])
  })

  it('leaves its row to the next runner when the database stays away, and says so', async () => {
    proxy.silence()
    await resign(options(), 0)
    expect(await row()).toMatchObject({ status: 'running' })
    expect(said).toEqual(['the database is away: the row of this runner stays open, the next one closes it'])
  })
})
