// Commands that collide with other transactions. The server ends a wait after half a second, as it ends a deadlock
// after a whole one.
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { UrlList } from '../../../src/base/url-list.ts'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { addCrawlWithPages, addPages } from '../../../src/machines/add-pages.ts'
import { retry } from '../../../src/machines/retry.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'

const homes = useHomes()

/** Those who wait for a table. */
const WAITING = `select pid || ' ' || waitstart as one from pg_locks l join pg_database d on d.oid = l.database
  where datname = current_database() and relation = $1::regclass and waitstart is not null`

/** Does `work` while another transaction holds `table` until a wait for it has ended in vain: there are five. */
async function collidingOn<T>(
  home: TestHome,
  db: Database,
  table: 'crawl' | 'snapshot',
  work: () => Promise<T>,
): Promise<T> {
  const waiting = async () => (await home.query<{ one: string }>(WAITING, [table]))[0]?.one
  const isHeld = Promise.withResolvers<void>()
  const holding = db.transaction().execute(async (tx) => {
    await sql`lock table ${sql.table(table)} in exclusive mode`.execute(tx)
    isHeld.resolve()
    const first = await eventually(waiting)
    await eventually(async () => (await waiting()) !== first)
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
  url.searchParams.set('options', '-c lock_timeout=500')
  const db = openDatabase(url.href, { name: 'the test', connections: 2 })
  const made = (text: string) =>
    home.value(`select (select count(*) from crawl where urls = $1) + (select count(*) from snapshot where url = $1)`, [
      text,
    ])
  try {
    const added = 'http://127.0.0.1:9/added'
    expect(await collidingOn(home, db, 'snapshot', () => addPages(db, crawl, list(added), ['tag']))).toHaveLength(1)
    expect(await made(added)).toBe('1')
    expect(await collidingOn(home, db, 'snapshot', () => addCrawlWithPages(db, newCrawl()))).toHaveLength(1)
    expect(await made(list().first.urls)).toBe('2')
    await home.query(`update crawl set status = 'sealed', retry_at = null where id = $1`, [crawl])
    expect(
      await collidingOn(home, db, 'crawl', () => retry({ db, dataDirId: uuidv7() }, { crawls: [crawl] })),
    ).toMatchObject({
      crawls: [crawl],
    })
  } finally {
    await db.destroy()
  }
})
