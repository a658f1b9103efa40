import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOSTED_LOG } from '../../base/attempt-paths.ts'
import { failpoint } from '../../base/failpoint.ts'
import { writtenSince } from '../../db/recorded-files.ts'
import type { Hook } from '../../hooks/discover.ts'
import type { HookEnd } from '../sequence/hook-end.ts'
import { logsFor } from '../sequence/hook-logs.ts'
import { after } from './after.ts'
import type { PageInWork } from './page-in-work.ts'
import { type HookOfPage, hooksAt, type PageState } from './page-state.ts'
import type { RunJob } from './plan.ts'
import { settle } from './settle.ts'

/**
 * Runs a job until it is over, or its host is lost, killed or gone by itself: the remaining hooks may need what failed.
 */
export async function runJob(page: PageInWork, before: PageState, { hooks, ahead, moves }: RunJob): Promise<PageState> {
  const { context, scope, sequence, tree, tick } = page
  const job = ahead ? [...hooks, ahead] : hooks
  await tellWritten(page, job[0]!)
  if (!job.every(({ hook }) => hook.readsPublished)) tree.makePlaces()
  const runs = []
  for (const { hook, result } of job) {
    const outputDir = before.isShared ? await restore(page, before, hook) : await tree.placeFor(hook.plugin)
    const logs = logsFor(tree.root, hook, result.attempt)
    runs.push({ hook, attempt: result.attempt, outputDir, isMoved: moves, isAhead: hook === ahead?.hook, logs })
  }
  let host = ''
  const begun = async (hook: Hook, processId: string) => {
    if (host !== '') tree.makePlaces() // It has not seen which hooks ran before.
    host = processId
    if (!page.results.isKnown(processId)) await started(page, job.find((one) => one.hook === hook)!, processId)
  }
  let state = before
  let left = job
  const ours = { scope, log: join(tree.root, HOSTED_LOG), runs }
  for await (const ends of sequence.job(ours, tick.signal, begun)) {
    left = left.slice(ends.length)
    state = await settle(page, state, ends, { jobIsOver: left.length === 0, ahead: ahead?.hook })
    const { cause, exit } = ends.at(-1)!
    if (cause !== 'exit' || exit.signal) break
    // Writes the progress of a job that takes long.
    if (left.length > 0 && !context.stop.drain.aborted) await started(page, left[0]!, host)
  }
  return state
}

export async function run(page: PageInWork, state: PageState, one: HookOfPage): Promise<PageState> {
  const { scope, sequence, tree, tick } = page
  const { hook, result } = one
  await tellWritten(page, one)
  const logs = logsFor(tree.root, hook, result.attempt)
  const dir = await restore(page, state, hook)
  tree.makePlaces()
  const begun = (processId: string) => started(page, one, processId)
  const end = await sequence.run(scope, hook, dir, logs, tick.signal, begun)
  return end ? await settle(page, state, [end]) : after(state, { what: 'running', hook })
}

/** The page with the results of background hooks that have ended meanwhile. */
export async function withReaped(page: PageInWork, state: PageState): Promise<PageState> {
  const ends = await page.sequence.background.reap()
  return await settled(page, after(state, { what: 'exited', hooks: ends.map(({ hook }) => hook) }), ends)
}

/**
 * Settles background hooks one by one, since those of one plugin share a folder, and writes each end: a later failure
 * may not be their fault.
 */
export async function settled(
  page: PageInWork,
  state: PageState,
  ends: Iterable<HookEnd> | AsyncIterable<HookEnd>,
): Promise<PageState> {
  let now = state
  for await (const end of ends) {
    now = await settle(page, now, [end])
    await page.results.write()
  }
  return now
}

/** Tells a hook that reads published files which of them are new to it, unless all are. */
async function tellWritten({ context, claim, tree, results }: PageInWork, { hook, result }: HookOfPage): Promise<void> {
  if (!hook.readsPublished || result.attempt === 1) return
  await results.write()
  const paths = await writtenSince(context.owner.home.db, claim.id, hook.plugin)
  writeFileSync(join(tree.work, `.written-since-${hook.plugin}.json`), JSON.stringify(paths))
}

async function started({ results }: PageInWork, { result }: HookOfPage, processId: string): Promise<void> {
  await results.write({ result, processId })
  await failpoint('spawn.hook_recorded')
}

/** @returns the directory in which the hook runs */
async function restore({ tree }: PageInWork, state: PageState, { plugin }: Hook): Promise<string> {
  const isRunning = hooksAt(state, 'running').some(({ hook }) => hook.plugin === plugin)
  return isRunning ? tree.dirFor(plugin) : await tree.restore(plugin)
}
