import { join } from 'node:path'
import { attemptName } from '../../base/attempt-paths.ts'
import type { LoggedEnd } from '../../base/row-log.ts'
import { loggedEnd } from '../../hooks/hosted-ends.ts'
import { recordsOf } from '../../hooks/records.ts'
import { keepStaticfileLog } from '../../hooks/upstream/staticfile-log.ts'
import type { WorkTree } from '../../hooks/work-tree.ts'
import type { HookEnd } from '../sequence/hook-end.ts'
import { keptLogs, logsFor } from '../sequence/hook-logs.ts'
import type { PageInWork } from './page-in-work.ts'
import type { HookOfPage } from './page-state.ts'

type Log = ReadonlyMap<string, LoggedEnd>

const endIn = (log: Log, { hook, result }: HookOfPage) => log.get(attemptName(hook.plugin, hook.name, result.attempt))

/** The end of a hook that only the log of its page has, on behalf of the worker `processId`. */
export function earlierEnd(one: HookOfPage, tree: WorkTree, log: Log, processId: string): HookEnd {
  const { hook, result } = one
  const logged = endIn(log, one)!
  const at = logged.at - performance.timeOrigin
  const published = tree.isPublished(hook.plugin) ? tree.published(hook.plugin) : undefined
  const logs = logsFor(tree.root, hook, result.attempt)
  return { ...loggedEnd({ hook, logs }, logged, at, at), cause: 'exit', processId, published }
}

/** Reads the findings of an ended hook, from its output and its files, and lets others see that it ran. */
export async function recall({ tree, findings }: PageInWork, one: HookOfPage, log: Log): Promise<void> {
  const { hook, result, end } = one
  const hasSucceeded = end?.status === 'succeeded'
  tree.dirFor(hook.plugin)
  const logged = endIn(log, one)
  const logs = logged ? logsFor(tree.root, hook, result.attempt) : keptLogs(tree.root, hook, result.attempt)
  // A power cut may have undone the log, but not the files.
  if (logs || hasSucceeded) await findings.readUrls(join(tree.root, hook.plugin))
  if (!logs) return
  const printed = { logs, stdout: logged?.stdout }
  if (hasSucceeded) keepStaticfileLog(tree, hook.plugin, printed, end.output)
  findings.add(await recordsOf(printed))
}
