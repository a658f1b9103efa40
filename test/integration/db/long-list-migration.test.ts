// Crawls of an older release hold their whole list in one text. They get parts, and go on from where they were.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type TestDatabase, useDatabases } from '../../support/engine.ts'
import { newFolder } from '../../support/homes.ts'
import { program, ROOT } from '../../support/program.ts'

const folder = join(ROOT, 'src', 'db', 'migrations')
const older = readdirSync(folder)
  .filter((file) => file.endsWith('.sql') && file < '0011')
  .sort()

const databases = useDatabases()
let old: TestDatabase
let dataDir: string

beforeEach(async () => {
  old = await databases.make(
    'create table schema_migration (version integer primary key, name text not null, ' +
      'applied_at timestamptz not null default now())',
    ...older.map((file) => readFileSync(join(folder, file), 'utf8')),
    `insert into schema_migration (version, name)
      values ${older.map((file) => `(${Number(file.slice(0, 4))}, '${file.slice(5, -4)}')`).join(', ')}`,
  )
  dataDir = newFolder()
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const call = () => ({ env: { DATA_DIR: dataDir, DATABASE_URL: old.url } })
const url = (n: number) => `http://127.0.0.1:9/${n}`
const urls = (count: number) => Array.from({ length: count }, (_, n) => url(n))

/** A crawl as that release left it. */
async function crawl(label: string, list: readonly string[], status: string): Promise<void> {
  await old.query(
    `with made as (insert into crawl (id, urls, output_dir, label, status, config)
       values (gen_random_uuid(), $1, 'archive/crawls/' || $2::text, $2, $3,
         '{"url_allowlist": "nowhere.example"}') returning id)
     insert into transition (model, row_id, from_status, to_status, event)
     select 'crawl', id, 'queued', 'started', 'start' from made where $3 <> 'queued'`,
    [list.join('\n'), label, status],
  )
}

describe('crawls of an older release', () => {
  it('have their lists in parts, and become pages once', async () => {
    await crawl('one', urls(1), 'queued')
    await crawl('long', urls(4_500), 'queued')
    await crawl('begun', urls(250), 'started')
    await old.query(
      `insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, retry_at)
       select gen_random_uuid(), c.id, u, sha256(convert_to(u, 'UTF8')), 's/' || u, 'sealed', null
       from crawl c, unnest($1::text[]) u where label = 'begun'`,
      [urls(3)],
    )
    const { code, stderr } = await program(['init'], call())
    expect(code, stderr).toBe(0)
    const shown = `select label, cardinality(string_to_array(urls, e'\\n')) as shown, urls_total, next_part,
      (select coalesce(sum(pages), 0)::int from crawl_pages where crawl_id = crawl.id) as pages,
      (select count(*)::int from crawl_source where crawl_id = crawl.id) as parts from crawl order by urls_total`
    expect(await old.query(shown)).toEqual([
      { label: 'one', shown: 1, urls_total: 1, next_part: 0, pages: 0, parts: 0 },
      { label: 'begun', shown: 100, urls_total: 250, next_part: null, pages: 3, parts: 1 },
      { label: 'long', shown: 100, urls_total: 4_500, next_part: 0, pages: 0, parts: 3 },
    ])
    const whole = await old.value<string>(`
      select c.urls || e'\\n' || string_agg(s.urls, e'\\n' order by part) from crawl c join crawl_source s
        on s.crawl_id = c.id
      where label = 'long' group by c.id`)
    expect(whole.split('\n')).toEqual(urls(4_500))
    const run = await program(['run', '--exit-on-idle'], call())
    expect(run.code, run.stderr).toBe(0)
    expect(await old.value('select count(*)::int from crawl where next_part is null')).toBe(3)
    expect(await old.value("select count(*)::int from crawl where status = 'sealed'")).toBe(3)
    expect(await old.value('select count(*)::int from snapshot')).toBe(3)
  })
})
