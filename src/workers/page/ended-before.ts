import { attemptName } from '../../base/attempt-paths.ts'
import type { LoggedEnd } from '../../base/row-log.ts'
import { isOfNow, loggedEnd } from '../../hooks/hosted-ends.ts'
import type { WorkTree } from '../../hooks/work-tree.ts'
import type { ResultRow } from '../../machines/results.ts'
import { type HookEnd, logsFor } from '../sequence/hook-sequence.ts'
import { isFinal, type OpenHook } from './hook-rows.ts'

/**
 * Does the log of the page tell the next worker how this hook ended? Of first attempts only: then the files in the
 * plugin's folder can be from no other attempt.
 * @param repeated results whose ends are of an earlier run
 */
export const isTold = ({ hook, result }: OpenHook, repeated: ReadonlySet<string>): boolean =>
  hook.hosted && result.attempt === 1 && !repeated.has(result.id)

/**
 * Hosted hooks that ended although their worker died before it wrote that down: the log has their ends. Not of a plugin
 * with another hook, such as one that it had before an upgrade: the files may be of that one.
 * @param results all of the page, also of hooks that are no more
 * @param repeated results whose ends are of an earlier run
 * @param missing plugins that cannot run: nobody waits for them
 */
export function endedBefore(
  all: readonly OpenHook[],
  results: readonly ResultRow[],
  log: ReadonlyMap<string, LoggedEnd>,
  repeated: ReadonlySet<string>,
  missing: ReadonlyMap<string, string>,
): OpenHook[] {
  const hasEnded = ({ hook, result }: OpenHook) => {
    const end = log.get(attemptName(hook.plugin, hook.name, result.attempt))
    return end !== undefined && isOfNow(end)
  }
  const open = all.filter((one) => !isFinal(one.result) && (hasEnded(one) || !missing.has(one.hook.plugin)))
  const unfinished = open.findIndex(
    (one) =>
      !isTold(one, repeated) || results.filter(({ plugin }) => plugin === one.hook.plugin).length > 1 || !hasEnded(one),
  )
  return unfinished === -1 ? open : open.slice(0, unfinished)
}

/** The end of such a hook, on behalf of the worker `processId`. */
export function earlierEnd(
  { hook, result }: OpenHook,
  tree: WorkTree,
  log: ReadonlyMap<string, LoggedEnd>,
  processId: string,
): HookEnd {
  const logs = logsFor(tree.root, hook, result.attempt)
  const logged = log.get(attemptName(hook.plugin, hook.name, result.attempt))!
  const at = logged.at - performance.timeOrigin
  const published = tree.isPublished(hook.plugin) ? tree.published(hook.plugin) : undefined
  return { ...loggedEnd({ hook, logs }, logged, at, at), cause: 'exit', processId, published }
}
