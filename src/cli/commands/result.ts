import { findIds } from '../../app/ids.ts'
import { UsageError } from '../../base/errors.ts'
import { listedByIds } from '../../db/lists/listings.ts'
import { withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { RESULT } from '../records/kinds.ts'
import { verbsOf } from '../records/verbs.ts'

/** The verbs of `result`. A result is worked on only with its page, so it cannot be paused by itself. */
export const resultVerbs = verbsOf(RESULT)

/** `result pause`, `resume`, `cancel`: refuses, and names the verb that does it to the pages. */
export async function refuseAlone(
  options: GlobalOptions,
  verb: 'pause' | 'resume' | 'cancel',
  ids: readonly string[],
): Promise<never> {
  const named = ids.filter((id) => id !== '-')
  const pages = await withHome(options, async (home) =>
    named.length === 0 ? [] : await listedByIds(home.db, RESULT, await findIds(home, RESULT, named)),
  )
  const which = [...new Set(pages.map((row) => row.snapshot_id))].join(' ') || 'ID'
  throw new UsageError(
    `cannot ${verb} single results: they are worked on with their page`,
    `archivebox-ts snapshot ${verb} ${which}`,
  )
}
