// The log of transitions is history: nothing that decides reads it, so it may be cut short, or be gone.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { type CrawlClaim, crawlQueue, type Owner } from '../../../src/machines/queues.ts'
import { retry } from '../../../src/machines/retry.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'

const homes = useHomes()
let home: TestHome
let db: Database

beforeEach(async () => {
  home = await homes.make()
  db = openDatabase(home.databaseUrl, { name: 'the test' })
})
afterEach(() => db.destroy())

describe('whether a move took effect whose answer was lost', () => {
  const start = async () => {
    await home.query(
      `insert into crawl (id, urls, output_dir) values ($1, 'https://example.com/', 'archive/crawls/x')`,
      [uuidv7()],
    )
    const dataDirId = uuidv7()
    const owner: Owner = {
      home: { db, databaseUrl: home.databaseUrl, embedded: true, machineId: '', dataDir: home.dataDir, dataDirId },
      processId: uuidv7(),
      term: 1,
    }
    await home.query('insert into runner_term values ($1, 1, $2)', [dataDirId, owner.processId])
    const queue = crawlQueue(owner, {})
    const claim = (await queue.next()) as CrawlClaim<'queued'>
    return { owner, queue, claim }
  }

  it('is known by the row alone', async () => {
    const { queue, claim, owner } = await start()
    expect(await queue.hasMoved(claim, 'started')).toBe(false)
    const started = await queue.move(claim, 'start', owner.processId)
    expect(await queue.hasMoved(started, 'started')).toBe(true)
    expect(await queue.hasMoved(started, 'sealed')).toBe(false)
    await queue.move(started, 'seal', owner.processId)
    await home.query('truncate transition')
    expect(await queue.hasMoved(started, 'sealed')).toBe(true)
  })

  it('is not mistaken for a later move, not even of the same owner', async () => {
    const { queue, claim, owner } = await start()
    await queue.move(claim, 'seal', owner.processId)
    await retry(owner.home, { crawls: [claim.id] })
    expect(await queue.hasMoved(claim, 'sealed')).toBe(false)
    const again = (await queue.next()) as CrawlClaim<'queued'>
    await queue.move(again, 'seal', owner.processId)
    expect(await queue.hasMoved(again, 'sealed')).toBe(true)
    expect(await queue.hasMoved(claim, 'sealed')).toBe(false)
  })
})
