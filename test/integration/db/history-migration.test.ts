import { rmSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrations } from '../../../src/db/migrate.ts'
import { useDatabases } from '../../support/engine.ts'
import { newFolder } from '../../support/homes.ts'
import { schemaOf } from '../../support/kept-data-dirs.ts'
import { program } from '../../support/program.ts'

const VERSION = 12
const earlier = migrations().flatMap(({ version }) => (version < VERSION ? [version] : []))

const databases = useDatabases()
let dataDir: string
beforeEach(() => {
  dataDir = newFolder()
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

it('pages that were cancelled just before the log was no state any more are still looked at', async () => {
  const old = await databases.make(
    ...schemaOf(earlier),
    "insert into crawl (id, urls, output_dir) values (gen_random_uuid(), 'http://x/', 'c')",
    `insert into snapshot (id, crawl_id, url, url_hash, output_dir, status, retry_at)
     select gen_random_uuid(), id, url, convert_to(url, 'UTF8'), url, case url when 'again' then 'queued'
       else 'sealed' end, null
     from crawl, unnest('{lately,long ago,by its worker,again}'::text[]) as url`,
    `insert into transition (model, row_id, from_status, to_status, event, process_id, at)
     select 'snapshot', id, 'started', 'sealed', 'seal', case url when 'by its worker' then id end,
       now() - case url when 'long ago' then interval '2 days' else interval '1 hour' end
     from snapshot`,
  )
  const { code, stderr } = await program(['init'], { env: { DATA_DIR: dataDir, DATABASE_URL: old.url } })
  expect(code, stderr).toBe(0)
  expect(
    await old.query(
      'select url, at < now() - interval $$59 min$$ as dated from cancelled_page join snapshot on id = snapshot_id',
    ),
  ).toEqual([{ url: 'lately', dated: true }])
})
