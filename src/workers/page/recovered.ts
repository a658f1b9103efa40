import { attemptName } from '../../base/attempt-paths.ts'
import { isBusyCause } from '../../machines/busy.ts'
import { causeOf } from '../../machines/cause.ts'
import { isFinal, type ResultRow } from '../../machines/results.ts'
import { withAsides, withRow } from './after.ts'
import { type HookOfPage, type HookState, isInLog, type PageState } from './page-state.ts'

/** What an earlier owner of a page has left. */
export interface Left {
  /** The current attempts of its hooks, including hooks that no longer exist. */
  readonly rows: readonly ResultRow[]
  /** The hooks that ended in a job whose work tree is still there, by the names of their attempts. */
  readonly logged: ReadonlySet<string>
  /** Plugins that have published files. */
  readonly published: ReadonlySet<string>
  /** When the work on the page began; undefined: it begins now. */
  readonly begunAt: Date | undefined
}

/** The page as its rows, its log and its files tell, once every hook that applies has a row. */
export function recovered(state: PageState, left: Left): PageState {
  const hooks = state.hooks.map((one, place) => {
    const own = withRow(one, left.rows)
    return own.result ? asLeft(own as HookOfPage, place, left) : own
  })
  const strays = left.rows.filter((row) => !hooks.some(({ result }) => result === row) && isLost(row, left))
  return { ...state, stage: 'begun', hooks: withAsides(hooks), gone: strays }
}

/**
 * Whether the published files of a hook are gone. Not files from before a retry of the page: a person may have moved
 * them, and they cannot always be fetched again.
 */
function isLost(row: ResultRow, { begunAt, published }: Left): boolean {
  const isOfNow = begunAt !== undefined && row.end_ts !== null && row.end_ts >= begunAt
  return isFinal(row) && row.has_files && isOfNow && !published.has(row.plugin)
}

function asLeft(one: HookOfPage, place: number, left: Left): HookState {
  const { hook, result } = one
  if (isFinal(result)) {
    const { status, output_str: output } = result
    const cause = status === 'failed' ? causeOf(hook.plugin, output) : undefined
    const isBusy = cause !== undefined && isBusyCause(cause)
    const end = { status, output, cause, isBusy, place, isEarlier: true, isAside: false }
    return { ...one, at: 'ended', end, isLost: isLost(result, left) }
  }
  // If the plugin has another hook, such as one from before an upgrade, the files may be of that one.
  const isAlone = left.rows.filter(({ plugin }) => plugin === hook.plugin).length === 1
  const isLogged = left.logged.has(attemptName(hook.plugin, hook.name, result.attempt))
  return isAlone && isLogged && isInLog(one) ? { ...one, at: 'logged' } : one
}
