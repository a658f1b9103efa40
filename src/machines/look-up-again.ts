import { type RawBuilder, sql } from 'kysely'
import type { BinaryRow } from '../db/binaries.ts'
import type { Database } from '../db/database.ts'
import { withRetry } from '../db/retry.ts'
import { binaryMachine } from './binary.ts'
import { idsOf, movedRows, NOBODY, wokenRows } from './moved.ts'

/** A program is no longer where it was found: queues it to be looked up again at once. */
export async function loseBinary(db: Database, { id, abspath }: BinaryRow): Promise<void> {
  const lost = movedRows(binaryMachine, {
    as: 'lost',
    rows: idsOf([id]),
    from: ['installed'],
    event: 'gone',
    guard: sql`work.abspath = ${abspath}`,
    set: { abspath: "''", version: "''", sha256: "''" },
    by: NOBODY,
  })
  await withRetry(db, () => sql`with ${lost} select from lost`.execute(db))
}

/** A program that was missing has appeared: makes it due now, unless it is claimed. */
export async function lookUpNow(db: Database, { id }: BinaryRow): Promise<void> {
  await wake(db, { rows: idsOf([id]) })
}

/** Notes the reported place of a missing program, and makes it due, unless it is claimed. */
export async function hintBinary(db: Database, machineId: string, name: string, abspath: string): Promise<void> {
  const rows = sql`array(select id from "binary" where machine_id = ${machineId} and name = ${name})`
  await wake(db, { rows, set: { abspath: sql`${abspath}` } })
}

async function wake(
  db: Database,
  which: { readonly rows: RawBuilder<unknown>; readonly set?: Readonly<Record<string, RawBuilder<unknown>>> },
): Promise<void> {
  const woken = wokenRows(binaryMachine, { as: 'woken', states: ['queued'], ...which })
  await withRetry(db, () => sql`with ${woken} select from woken`.execute(db))
}
