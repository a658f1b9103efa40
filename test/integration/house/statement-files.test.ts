import { readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, it } from 'vitest'
import { ARCHIVE_FILE, ENGINE_FILE } from '../../../scripts/write-statements.ts'
import { useHomes } from '../../support/homes.ts'

const homes = useHomes()

it.each([
  ["the archive's own queues", ARCHIVE_FILE],
  ['the state engine', ENGINE_FILE], // Its tables hide those of the same name for as long as the session lasts.
])('the statements of %s can be pasted into psql', async (_whose, file) => {
  const home = await homes.make()
  const client = new pg.Client({ connectionString: home.databaseUrl })
  await client.connect()
  try {
    const text = readFileSync(file, 'utf8')
    await client.query(text)
    const { rows } = await client.query('select 1 from pg_prepared_statements')
    expect(rows).toHaveLength(text.match(/^prepare /gm)!.length)
  } finally {
    await client.end()
  }
})
