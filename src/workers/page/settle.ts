import { join } from 'node:path'
import { attemptName, HOSTED_LOG } from '../../base/attempt-paths.ts'
import { lacksSpace } from '../../base/disk-space.ts'
import { failpoint } from '../../base/failpoint.ts'
import { forgetEnds } from '../../base/row-log.ts'
import type { Hook } from '../../hooks/discover.ts'
import { busyIn } from '../../machines/busy.ts'
import { forgetAttempts } from '../../machines/queues.ts'
import { queueBinaries } from '../sequence/binaries.ts'
import type { HookEnd } from '../sequence/hook-end.ts'
import { type HookVerdict, settleHooks } from '../sequence/hook-settle.ts'
import { after } from './after.ts'
import { areOfAllFiles } from './hashed-files.ts'
import { keepAway } from './host-manners.ts'
import type { PageInWork } from './page-in-work.ts'
import {
  type HookOfPage,
  hookOf,
  hooksAt,
  isInLog,
  isLateWanted,
  mayMove,
  mayRetry,
  type PageState,
  wasBusy,
} from './page-state.ts'
import { told } from './told.ts'

interface Around {
  /** No hook is running in the host. */
  readonly jobIsOver?: boolean
  /** A hook that may have read the files of the others before those were published. */
  readonly ahead?: Hook | undefined
}

/**
 * Judges hooks that have ended, publishes their files and adds their results to the next write. A hook that ran ahead
 * stays open unless it saw exactly what is published in the end.
 */
export async function settle(
  page: PageInWork,
  before: PageState,
  ends: readonly HookEnd[],
  { jobIsOver = false, ahead }: Around = {},
): Promise<PageState> {
  let state = lookForFile(page, before)
  const isAhead = ({ hook }: HookEnd) => hook === ahead
  // Hooks that were unknown until now come in between.
  const isInVain = isLateWanted(state) && ends.some(isAhead)
  if (isInVain) state = await inVain(page, state, ahead!)
  const counting = isInVain ? ends.filter((end) => !isAhead(end)) : ends
  if (counting.length === 0) return state
  const ended = counting.map((end) => ({ end, one: hookOf(state, end.hook) as HookOfPage }))
  const verdicts = await judged(page, state, ended, jobIsOver)
  await Promise.all(counting.map(({ recorded }) => recorded))
  for (const [index, { one, end }] of ended.entries())
    state =
      one.hook === ahead && !areOfAllFiles(page.tree, one.hook)
        ? await inVain(page, state, one.hook)
        : await take(page, state, one, end, verdicts[index]!)
  await failpoint('publish.hook_settled')
  return lookForFile(page, state)
}

/** Checks whether the URL has turned out to be a file, if that matters. */
export function lookForFile({ tree }: Pick<PageInWork, 'tree'>, state: PageState): PageState {
  const isAsked = state.hooks.some(({ at }) => at === 'late')
  const isThere = () => state.hooks.some(({ hook }) => hook.file && tree.hasFile(hook.plugin))
  return isAsked ? after(state, { what: 'file', isThere: isThere() }) : state
}

interface EndOfOne {
  readonly one: HookOfPage
  readonly end: HookEnd
}

async function judged(
  { tree, context }: PageInWork,
  state: PageState,
  ended: readonly EndOfOne[],
  jobIsOver: boolean,
): Promise<HookVerdict[]> {
  const hooks = ended.map(({ one }) => one.hook)
  const rest = hooksAt(state, 'open', 'logged', 'running').filter(({ hook }) => !hooks.includes(hook))
  const { owner, settings } = context
  return await settleHooks(
    tree,
    ended.map(({ one, end }) => ({
      hook: one.hook,
      attempt: one.result.attempt,
      end,
      isLast: !rest.some(({ hook }) => hook.plugin === one.hook.plugin),
      published: end.published,
      mayRetry: mayRetry(state, one) && !wasBusy(state),
    })),
    jobIsOver && mayMove(state, hooks),
    () => lacksSpace(owner.home.dataDir, settings.config.DISK_FLOOR) === undefined,
  )
}

async function take(
  page: PageInWork,
  state: PageState,
  one: HookOfPage,
  end: HookEnd,
  { records, ...verdict }: HookVerdict,
): Promise<PageState> {
  const { context, claim, results, findings, tree } = page
  const { hook, result } = one
  const { event, ...output } = told(state, one, verdict)
  if (event === 'wait') {
    await results.interrupt(result)
    return after(state, { what: 'ended', hook, end: { event, ...output } })
  }
  // Before the result becomes final: if we died in between, nobody would queue them.
  if (event !== 'interrupt') await queueBinaries(context, records.binaries)
  await failpoint('publish.hook_settling')
  const { processId, began, ended } = end
  const times = { ...(began !== undefined && { began }), ...(ended !== undefined && { ended }) }
  await results.add({ result, event, processId, ...output, ...times }, isInLog(one))
  const waitMs = event === 'delay' ? retryMs(page, one, verdict.json) : undefined
  const now = after(state, { what: 'ended', hook, end: { event, ...output }, waitMs })
  if (event === 'interrupt') return now
  if (now.hasProgressed && !state.hasProgressed && claim.attempts > 1) {
    // Otherwise it might end, and be forgotten, again and again.
    if (!isInLog(one)) await results.write()
    await forgetAttempts(context.owner.home.db, claim)
  }
  if (waitMs !== undefined && busyIn(verdict.json)) await keepAway(context.owner, claim.row.url, page.settings, waitMs)
  // The tree has read the ends of earlier rounds when it was opened.
  if (state.stage === 'open') {
    findings.add(records)
    // Our own hooks print what they find.
    if (event === 'succeed' && !hook.hosted) await findings.readUrls(tree.dirFor(hook.plugin))
  }
  context.log.debug(`${hook.name} on ${claim.row.url} ${event}: ${output.output}`)
  return now
}

/** The wait before a temporarily failed hook is tried again. A server that was too busy may ask for more. */
export function retryMs({ retries }: PageInWork, { result }: HookOfPage, json?: unknown): number {
  return Math.max(retries.waitMs(result.retries), busyIn(json)?.waitMs ?? 0)
}

/** Leaves a hook open that has ended. Its published files are not its output: the next time it may find nothing. */
async function inVain({ tree, results }: PageInWork, state: PageState, hook: Hook): Promise<PageState> {
  const { result } = hookOf(state, hook) as HookOfPage
  forgetEnds(join(tree.root, HOSTED_LOG), [attemptName(hook.plugin, hook.name, result.attempt)])
  if (!result.has_files) await tree.withdraw(hook.plugin)
  await results.interrupt(result)
  return after(state, { what: 'in vain', hook })
}
