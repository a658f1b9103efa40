// Commands that collide with other transactions. The server ends a wait after 50 ms, as it ends a deadlock after a
// second.
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { sleep } from '../../src/base/abort.ts'
import { UrlList } from '../../src/base/url-list.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { addCrawlWithPages, addPages } from '../../src/machines/add-pages.ts'
import { retry } from '../../src/machines/retry.ts'
import { useHomes } from '../support/homes.ts'

const homes = useHomes()

/** Does `work` while another transaction holds `table` for longer than one wait, and shorter than five. */
async function collidingOn<T>(db: Database, table: 'crawl' | 'snapshot', work: () => Promise<T>): Promise<T> {
  const isHeld = Promise.withResolvers<void>()
  const holding = db.transaction().execute(async (tx) => {
    await sql`lock table ${sql.table(table)} in exclusive mode`.execute(tx)
    isHeld.resolve()
    await sleep(200)
  })
  await isHeld.promise
  const [done] = await Promise.all([work(), holding])
  return done
}

const list = (urls = 'http://127.0.0.1:9/new') => new UrlList(1, { urls, details: '' }, [])
const newCrawl = () => ({ list: list(), tags: [], maxDepth: 0, maxUrls: 0, maxSize: 0, label: '', config: {} })

it('adds and retries again after a collision, and each once', async () => {
  const home = await homes.make()
  const crawl = await home.add('http://127.0.0.1:9/')
  const url = new URL(home.databaseUrl)
  url.searchParams.set('options', '-c lock_timeout=50')
  const db = openDatabase(url.href, { name: 'the test', connections: 2 })
  const made = (text: string) =>
    home.value(`select (select count(*) from crawl where urls = $1) + (select count(*) from snapshot where url = $1)`, [
      text,
    ])
  try {
    const added = 'http://127.0.0.1:9/added'
    expect(await collidingOn(db, 'snapshot', () => addPages(db, crawl, list(added), ['tag']))).toHaveLength(1)
    expect(await made(added)).toBe('1')
    expect(await collidingOn(db, 'snapshot', () => addCrawlWithPages(db, newCrawl()))).toHaveLength(1)
    expect(await made(list().first.urls)).toBe('2')
    await home.query(`update crawl set status = 'sealed', retry_at = null where id = $1`, [crawl])
    expect(await collidingOn(db, 'crawl', () => retry(db, { crawls: [crawl] }))).toMatchObject({ crawls: [crawl] })
  } finally {
    await db.destroy()
  }
})
