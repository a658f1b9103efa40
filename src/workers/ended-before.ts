import { attemptName } from '../base/attempt-paths.ts'
import type { LoggedEnd } from '../base/row-log.ts'
import { isOfNow, loggedEnd } from '../hooks/hook-host.ts'
import type { WorkTree } from '../hooks/work-tree.ts'
import type { ResultRow } from '../machines/results.ts'
import { isFinal, type OpenHook } from './hook-rows.ts'
import { type HookEnd, logsFor } from './hook-sequence.ts'

/**
 * Hosted hooks that ended although their worker died before it wrote that down: the log has their ends. First attempts
 * only, where the files in the plugin's folder can be from no other attempt, and of no other hook, such as one that the
 * plugin had before an upgrade.
 * @param results all of the page, also of hooks that are no more
 * @param repeated results whose ends are of an earlier run
 */
export function endedBefore(
  all: readonly OpenHook[],
  results: readonly ResultRow[],
  log: ReadonlyMap<string, LoggedEnd>,
  repeated: ReadonlySet<string>,
): OpenHook[] {
  const open = all.filter(({ result }) => !isFinal(result))
  const hasEnded = ({ hook, result }: OpenHook) => {
    const end = log.get(attemptName(hook.plugin, hook.name, result.attempt))
    return end !== undefined && isOfNow(end)
  }
  const unfinished = open.findIndex(
    ({ hook, result }) =>
      !hook.hosted ||
      result.attempt > 1 ||
      repeated.has(result.id) ||
      results.filter(({ plugin }) => plugin === hook.plugin).length > 1 ||
      !hasEnded({ hook, result }),
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
