import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { openDatabase } from '../../../src/db/database.ts'
import { byIndex } from '../../../src/db/lists/by-index.ts'
import { useHomes } from '../../support/homes.ts'

const homes = useHomes()

it('a server that compiles large statements compiles none that is planned to walk along an index', async () => {
  const home = await homes.make()
  const db = openDatabase(home.databaseUrl, { name: 'test' })
  const jitIn = (planned: boolean) =>
    db.transaction().execute(async (tx) => {
      await sql`set local jit = on`.execute(tx)
      const ask = sql<{
        jit: string
      }>`select current_setting('jit') as jit where ${sql.raw(planned ? 'in_index_order()' : 'true')}`
      const { rows } = await (planned ? ask.execute(tx) : byIndex(tx, (same) => ask.execute(same)))
      return rows[0]!.jit
    })
  try {
    expect([await jitIn(true), await jitIn(false)]).toEqual(['off', 'off'])
  } finally {
    await db.destroy()
  }
})
