import { UsageError } from '../../base/errors.ts'
import { listedByIds } from '../../db/lists/listings.ts'
import { crawlsOfSnapshots } from '../../db/snapshots.ts'
import type { ResultStatus } from '../../db/tables.ts'
import { deleteResult } from '../../machines/deletion.ts'
import { WITHOUT_OUTPUT } from '../../machines/retry.ts'
import { withHome } from '../home.ts'
import { findIds } from '../ids.ts'
import type { GlobalOptions } from '../options.ts'
import { RESULT } from '../records/kinds.ts'
import { verbsOf } from '../records/verbs.ts'

/** The verbs of `result`. A result is worked on with its page only: there is nothing to pause. */
export const resultVerbs = verbsOf(
  RESULT,
  (rows, { failed, plugins }) => {
    const isLost = (status: ResultStatus) => (failed ? status === 'failed' : WITHOUT_OUTPUT.includes(status))
    const again = rows.filter(({ status, plugin }) => isLost(status) && (plugins?.includes(plugin) ?? true))
    return { results: again.map(({ id }) => id) }
  },
  {
    remove: deleteResult,
    shownBy: async (home, rows) => {
      const snapshots = [...new Set(rows.map((row) => row.snapshot_id))]
      return { crawls: await crawlsOfSnapshots(home.db, snapshots), snapshots }
    },
  },
)

/** `result pause`, `resume`, `cancel`: refuses, and names the pages to which that can be done. */
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
    `a result is worked on with its page: there is no ${verb} for it alone`,
    `archivebox-ts snapshot ${verb} ${which}`,
  )
}
