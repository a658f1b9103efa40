import { WITHOUT_OUTPUT } from '../../machines/retry.ts'
import { RESULT } from '../records/kinds.ts'
import { verbsOf } from '../records/verbs.ts'

/** The verbs of `result`. A result is worked on with its page only: there is nothing to pause. */
export const resultVerbs = verbsOf(RESULT, (rows, { statuses = WITHOUT_OUTPUT, plugins }) => {
  const again = rows.filter(({ status, plugin }) => statuses.includes(status) && (plugins?.includes(plugin) ?? true))
  return { results: again.map(({ id }) => id) }
})
