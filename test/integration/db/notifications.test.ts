import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listen } from '../../../src/db/notifications.ts'
import { DatabaseProxy } from '../../support/database-proxy.ts'
import { type TestDatabase, useDatabases } from '../../support/engine.ts'
import { eventually } from '../../support/program.ts'

const databases = useDatabases()
let server: TestDatabase
let proxy: DatabaseProxy
let listener: { close(): Promise<void> }
let heard: number

beforeEach(async () => {
  server = await databases.make()
  proxy = await DatabaseProxy.before(server.url)
  heard = 0
  listener = listen(proxy.url, 'a-runner', {
    news: () => {
      heard += 1
    },
    other: () => {},
  })
  await eventually(() => heard === 1)
})
afterEach(async () => {
  await listener.close()
  await proxy.close()
})

/** Somebody says that there is news, and it is heard. */
async function expectToHear(): Promise<void> {
  const before = heard
  await server.query('notify news')
  await eventually(() => heard === before + 1)
}

describe('a listener', () => {
  it('hears notifications, each once, and looks once when it is connected', async () => {
    await expectToHear()
    await expectToHear()
    expect(heard).toBe(3)
  })

  it('whose connection was cut listens again, and looks once, since it may have missed some', async () => {
    proxy.reset()
    await eventually(() => heard === 2)
    await expectToHear()
  })

  it('whose server is away for a while listens again when it is back', async () => {
    proxy.refuse()
    await eventually(() => proxy.connections === 0)
    await new Promise((resolve) => setTimeout(resolve, 500))
    proxy.pass()
    await eventually(() => heard === 2)
    await expectToHear()
  })

  it('whose connection is half-open notices by its own question, and listens again', async () => {
    proxy.silence()
    proxy.pass()
    await server.query('notify news')
    await eventually(() => heard === 2)
    await expectToHear()
  })

  it('is closed at once, whatever state it is in', async () => {
    proxy.silence()
    await listener.close()
    expect(
      await server.value(
        "select count(*)::int from pg_stat_activity where application_name like '%listen%' " +
          'and datname = current_database()',
      ),
    ).toBeLessThanOrEqual(1)
  })
})
