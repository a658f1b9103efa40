import { join } from 'node:path'
import { sql } from 'kysely'
import type { Meanings } from '../base/makes.ts'
import type { Database } from '../db/database.ts'
import { meaningsIn } from '../db/meanings.ts'
import { latestResults } from '../db/results.ts'
import type { SnapshotRow } from '../db/snapshots.ts'
import { textIn } from './text-in.ts'
import { isHttpStatus, type JudgedResult, type Verdict, verdictOn } from './verdict.ts'

interface Page extends Pick<SnapshotRow, 'id' | 'output_dir'> {
  /** What its headers said, if they are on another node. */
  readonly said?: number | null
}

/**
 * The verdicts on these pages, from the latest results of their hooks and the published headers. Writes nothing.
 * @returns one per page, by id
 */
export async function judge(db: Database, dataDir: string, pages: readonly Page[]): Promise<Map<string, Verdict>> {
  const latest = await latestResults(
    db,
    pages.map(({ id }) => id),
  )
  const meanings = await meaningsIn(db)
  const results = Map.groupBy(latest, ({ snapshot_id }) => snapshot_id)
  const verdicts = new Map<string, Verdict>()
  for (const { id, output_dir, said } of pages) {
    verdicts.set(id, judgeResults(join(dataDir, output_dir), results.get(id) ?? [], meanings, said))
  }
  return verdicts
}

/**
 * The verdict on a page, from the latest results of its hooks and the headers published in its folder.
 * @param said what headers said that are not here
 */
export function judgeResults(
  dir: string,
  latest: readonly JudgedResult[],
  meanings: Meanings,
  said: number | null = null,
): Verdict {
  const hasAny = (plugin: string) => latest.some((one) => one.plugin === plugin && one.status === 'succeeded')
  const sources = meanings.with('httpStatus').filter(([plugin]) => hasAny(plugin))
  const statuses = sources.map(([plugin, file]) => statusIn(join(dir, plugin, file)) ?? said)
  return verdictOn(latest, meanings, statuses.find((status) => status !== null) ?? null)
}

/** The HTTP status in a file of a plugin; null without one. */
function statusIn(file: string): number | null {
  try {
    const { status } = JSON.parse(textIn(file) ?? '') as { status?: unknown }
    return isHttpStatus(status) ? status : null
  } catch {
    return null
  }
}

/** Writes verdicts to sealed pages, and to no others. */
export async function recordVerdicts(tx: Database, verdicts: ReadonlyMap<string, Verdict>): Promise<void> {
  const all = [...verdicts.values()]
  await sql`
    update snapshot s set outcome = v.outcome, cause = v.cause, http_status = v.http_status
    from unnest(${[...verdicts.keys()]}::uuid[], ${all.map(({ outcome }) => outcome)}::text[],
      ${all.map(({ cause }) => cause)}::text[], ${all.map(({ http_status }) => http_status)}::smallint[])
      as v (id, outcome, cause, http_status)
    where s.id = v.id and s.status = 'sealed'`.execute(tx)
}
