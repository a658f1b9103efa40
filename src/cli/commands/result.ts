import { crawlsOfSnapshots } from '../../db/snapshots.ts'
import type { ResultStatus } from '../../db/tables.ts'
import { deleteResult } from '../../machines/deletion.ts'
import { WITHOUT_OUTPUT } from '../../machines/retry.ts'
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
