// A list may be long: `add` takes it in parts, all or nothing, and says of it what a person can read.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { eventually } from '../../support/program.ts'

const MANY = 200_000
const homes = useHomes()

const url = (n: number) => `http://127.0.0.1:9/list/${n}`
const urls = (count: number) => Array.from({ length: count }, (_, n) => url(n))
/** The record that a command printed. */
const recordOf = (stdout: string) => JSON.parse(stdout) as { id: string; urls: string[]; urls_total: number }

function listIn(home: TestHome, lines: readonly string[]): string {
  const file = join(home.dataDir, 'list.txt')
  writeFileSync(file, lines.join('\n'))
  return file
}

const WAITING =
  'select 1 from pg_locks l join pg_database d on d.oid = l.database and datname = current_database() where not granted'

/** Nobody writes to this table while `work` runs, which can ask whether somebody waits to. */
async function withLock<T>(
  home: TestHome,
  table: string,
  work: (waiting: () => Promise<boolean>) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: home.databaseUrl })
  await client.connect()
  try {
    await client.query(`begin; lock table ${table} in share mode`)
    return await work(async () => (await client.query(WAITING)).rows.length > 0)
  } finally {
    await client.end()
  }
}

describe('a long list', () => {
  it('is added: each URL once, bad lines counted, the first of both shown', async () => {
    const home = await homes.make()
    const bad = Array.from({ length: 3_000 }, (_, n) => `not a url ${n}`)
    const lines = [...urls(MANY), ...urls(5_000), ...bad, '# a remark', '']
    const { code, stdout, stderr } = await home.run(['add', '--json', '--file', listIn(home, lines)])
    expect(code, stderr).toBe(0)
    const record = recordOf(stdout)
    expect(record.urls).toEqual(urls(100))
    expect(record.urls_total).toBe(MANY)
    expect(stderr.match(/^left out: line \d+: not a URL: not a url \d+$/gm)).toHaveLength(10)
    expect(stderr).toMatch(/left out: 2,?990 more/)
    const [listed] = (await home.run(['crawl', 'list', '--json'])).stdout.split('\n')
    expect(listed!.length).toBeLessThan(20_000)
    expect(recordOf(listed!)).toMatchObject({ id: record.id, urls_total: MANY })
    // Those that are not shown are there, too.
    const found = await home.run(['crawl', 'list', '--json', '--url__icontains', `/list/${MANY - 1}`])
    expect(recordOf(found.stdout).id).toBe(record.id)
  })

  it('comes through stdin as well, and a --dry-run prints all of it and writes nothing', async () => {
    const home = await homes.make()
    const input = urls(MANY).join('\r\n')
    const dry = await home.run(['add', '--dry-run', '--json', '-'], { input })
    expect(dry.code, dry.stderr).toBe(0)
    expect(dry.stdout.trim().split('\n')).toHaveLength(MANY)
    expect(await home.value('select count(*)::int from crawl')).toBe(0)
    const { code, stdout, stderr } = await home.run(['add', '--json'], { input })
    expect(code, stderr).toBe(0)
    expect(recordOf(stdout).urls_total).toBe(MANY)
  })

  it('of which `add` was killed half-way is not there at all', async () => {
    const home = await homes.make()
    const add = await withLock(home, 'crawl_source', async (waiting) => {
      const writing = home.start(['add', '--file', listIn(home, urls(5_000))])
      await eventually(waiting)
      writing.signal('SIGKILL')
      return await writing.finished()
    })
    expect(add.signal).toBe('SIGKILL')
    const others = 'select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
    await eventually(async () => (await home.query(others)).length === 0)
    expect(await home.value('select count(*)::int from crawl')).toBe(0)
    expect(await home.value('select count(*)::int from crawl_source')).toBe(0)
  })

  it('is copied as a whole by its record, which shows only the first of it', async () => {
    const home = await homes.make()
    await home.run(['add', '--file', listIn(home, urls(5_000))])
    const shown = await home.run(['crawl', 'list', '--json'])
    const copy = await home.run(['crawl', 'create', '--json', '-'], { input: shown.stdout })
    expect(copy.code, copy.stderr).toBe(0)
    expect(recordOf(copy.stdout)).toMatchObject({ urls_total: 5_000 })
    const parts = await home.query('select count(*)::int as parts from crawl_source group by crawl_id')
    expect(parts).toEqual([{ parts: 3 }, { parts: 3 }])
    const elsewhere = JSON.stringify({ ...recordOf(shown.stdout), id: '019a0000-0000-7000-8000-000000000000' })
    const refused = await home.run(['crawl', 'create', '-'], { input: elsewhere })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toMatch(/has only 100 of 5000 URLs/)
    const { id: _, ...nameless } = recordOf(shown.stdout)
    const run = await home.run(['run', '-'], { input: JSON.stringify(nameless) })
    expect([run.code, run.stderr]).toEqual([2, expect.stringMatching(/has only 100 of 5000 URLs/)])
    expect(await home.value('select count(*)::int from crawl')).toBe(2)
  })

  it('goes with its crawl, and the count of pages goes with each page', async () => {
    const home = await homes.make()
    const crawl = await home.add('--file', listIn(home, urls(300)), '--max-urls', '3', '--plugins', 'headers')
    await home.run(['run', '--exit-on-idle'])
    expect(await home.query('select (select sum(pages)::int from crawl_pages) as pages, next_part from crawl')).toEqual(
      [{ pages: 3, next_part: null }],
    )
    const [page] = await home.query<{ id: string }>('select id from snapshot order by id')
    expect((await home.run(['snapshot', 'delete', '--yes', page!.id])).code).toBe(0)
    expect(await home.value('select sum(pages)::int from crawl_pages')).toBe(2)
    expect((await home.run(['crawl', 'delete', '--yes', crawl])).code).toBe(0)
    expect(await home.value('select count(*)::int from crawl_source')).toBe(0)
  })

  it('of one line without an end is refused in one line', async () => {
    const home = await homes.make()
    const { code, stderr } = await home.run(['add', '-'], { input: `https://example.com/${'x'.repeat(3_000_000)}` })
    expect(code).toBe(2)
    expect(stderr).toMatch(/URL longer than 8192 characters/)
    expect(stderr.length).toBeLessThan(1_000)
  })
})
