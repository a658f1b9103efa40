import { type RawBuilder, sql } from 'kysely'

/** The tables whose rows are claimed: `claimed_by` names a process. */
export const CLAIMED_TABLES = ['crawl', 'snapshot', 'binary', 'schedule'] as const
export type ClaimedTable = (typeof CLAIMED_TABLES)[number]

/** Every process that holds a claim, as rows with the column `claimed_by`: claims are few, and found by an index. */
export const CLAIMANTS: RawBuilder<unknown> = sql.join(
  CLAIMED_TABLES.map((table) => sql`select claimed_by from ${sql.table(table)} where claimed_by is not null`),
  sql` union `,
)

/** The condition that a process holds no claim. @param id an SQL expression */
export const holdsNoClaim = (id: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql<boolean>`${sql.join(
    CLAIMED_TABLES.map((table) => sql`not exists (select from ${sql.table(table)} where claimed_by = ${id})`),
    sql` and `,
  )}`
