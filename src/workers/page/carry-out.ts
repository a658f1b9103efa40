import { join } from 'node:path'
import { attemptName, HOSTED_LOG } from '../../base/attempt-paths.ts'
import { failpoint } from '../../base/failpoint.ts'
import { forgetEnds, readRowLog } from '../../base/row-log.ts'
import { sizeText } from '../../base/words.ts'
import { isCrawlFull } from '../../db/counts.ts'
import { resultsOfPage } from '../../db/results.ts'
import { isOfNow } from '../../hooks/hosted-ends.ts'
import { addResults } from '../../machines/prepare-results.ts'
import { repeatResults } from '../../machines/results.ts'
import { endWorkers } from '../supervise/reap.ts'
import { after } from './after.ts'
import { earlierEnd, recall } from './earlier-ends.ts'
import { awaitTurn } from './host-manners.ts'
import type { PageInWork } from './page-in-work.ts'
import { permissionFor } from './page-refusal.ts'
import { type HookOfPage, hooksAt, type PageState } from './page-state.ts'
import type { PageStep } from './plan.ts'
import { recovered } from './recovered.ts'
import { run, runJob, settled, withReaped } from './run-hooks.ts'
import { lookForFile, retryMs, settle } from './settle.ts'
import type { Unrun } from './told.ts'

/**
 * Does what is planned next for a page. Throws ClaimLost when another worker owns it by now, and any error that is not
 * the page's fault: trouble of the machine or the database, a process that cannot be ended.
 * @returns the page afterwards
 */
export async function carryOut(page: PageInWork, state: PageState, next: PageStep): Promise<PageState> {
  const { context, claim, sequence, results, services, tick } = page
  switch (next.do) {
    case 'end former':
      await endWorkers(context.owner, next.processes)
      return after(state, { what: 'former ended' })
    case 'ask':
      return await ask(page, state)
    case 'begin':
      return await begin(page, state, next.first ? await sequence.hostId() : undefined)
    case 'repeat':
      return after(state, { what: 'repeated', hooks: next.hooks, files: await repeat(page, next) })
    case 'adopt':
      return await adopt(page, state, next.hooks)
    case 'add late': {
      await results.write()
      const hooks = next.hooks.map(({ hook }) => hook)
      return after(state, { what: 'late added', rows: await addResults(context.owner, claim, hooks) })
    }
    case 'end unrun':
      return await endUnrun(page, state, next.ends)
    case 'run job':
      return await withReaped(page, await runJob(page, state, next))
    case 'run':
      return await withReaped(page, await run(page, after(state, { what: 'shared' }), next.hook))
    case 'end background': {
      await results.write() // Their end may take long.
      const exited = after(state, { what: 'exited', hooks: hooksAt(state, 'running').map(({ hook }) => hook) })
      return await settled(page, exited, sequence.background.end(tick.signal, next.early))
    }
    case 'look at services':
      return after(state, { what: 'services', areLost: await services.haveLostOne() })
  }
}

async function ask(page: PageInWork, state: PageState): Promise<PageState> {
  const { context, claim, crawl, settings, tick, tree } = page
  const { owner } = context
  const { db } = owner.home
  // A page that was begun is finished, also after a pause or in another attempt.
  const isBegun = async () => tree.isBegun || (await resultsOfPage(db, claim.id)).length > 0
  if (claim.state === 'queued' && (await isCrawlFull(db, crawl)) && !(await isBegun())) {
    const reason = `not begun: the crawl has reached its --max-size, ${sizeText(crawl.max_size)}`
    return after(state, { what: 'refused', whyNot: { kind: 'beyond', reason } })
  }
  if (state.whyNot || state.hooks.length === 0) return after(state, { what: 'allowed', putOffMs: undefined })
  const { refusal, delayMs, isForNow } = await permissionFor(owner, claim, settings, tick.signal)
  if (refusal !== undefined) {
    const kind = isForNow ? 'refused for now' : 'refused'
    return after(state, { what: 'refused', whyNot: { kind, reason: refusal } })
  }
  const putOffMs = await awaitTurn(owner, claim, settings, delayMs, tick.signal)
  return after(state, { what: 'allowed', putOffMs })
}

async function begin(page: PageInWork, state: PageState, firstIn: string | undefined): Promise<PageState> {
  const { context, claim, tree, results } = page
  const isNew = claim.row.before.isNew && claim.attempts === 1
  const isLeft = tree.hasLeftovers
  // A person has taken it from somebody who has not noticed yet, and whom no row names.
  const former = isNew && isLeft ? tree.signedFor(context.owner) : undefined
  if (former !== undefined) await endWorkers(context.owner, [former])
  const hooksThat = (areLate: boolean) =>
    state.hooks.filter(({ at }) => (at === 'late') === areLate).map(({ hook }) => hook)
  // Unless its claim is on disk, a server that dies would give the page to a second worker while this one works.
  const isUnwritten = isNew && claim.isOnDisk && results.mayWait && !isLeft
  const rows =
    isUnwritten && firstIn !== undefined
      ? results.beginUnwritten(hooksThat(false), firstIn)
      : await results.begin(hooksThat(false), hooksThat(true), firstIn)
  await page.services.look()
  const withFiles = rows.filter((row) => row.has_files).map(({ plugin }) => plugin)
  // A worker that died between the two renames of a publication has left the files under another name.
  if (withFiles.length > 0) await tree.reconcilePublished()
  const log = isLeft ? [...readRowLog(join(tree.root, HOSTED_LOG))] : []
  return recovered(state, {
    rows,
    logged: new Set(log.filter(([, end]) => isOfNow(end)).map(([name]) => name)),
    published: new Set(withFiles.filter((plugin) => tree.isPublished(plugin))),
    begunAt: claim.state === 'started' ? claim.row.status_changed_at : undefined,
  })
}

/** Queues results again. Their ends go first: the next owner would take them for those of its own. */
async function repeat(
  { context, claim, tree, results }: PageInWork,
  { hooks, others }: Extract<PageStep, { do: 'repeat' }>,
): Promise<Record<string, string[]>> {
  await results.write()
  const rows = [...hooks.map(({ result }) => result), ...others]
  const names = rows.map(({ plugin, hook_name, attempt }) => attemptName(plugin, hook_name, attempt))
  forgetEnds(join(tree.root, HOSTED_LOG), names)
  return Object.fromEntries(await repeatResults(context.owner, claim, rows))
}

const nameOf = ({ hook, result }: HookOfPage) => attemptName(hook.plugin, hook.name, result.attempt)

async function adopt(page: PageInWork, state: PageState, hooks: readonly HookOfPage[]): Promise<PageState> {
  const { context, tree } = page
  const file = join(tree.root, HOSTED_LOG)
  const log = readRowLog(file)
  let now = state
  if (hooks.length > 0) {
    await tree.reconcilePublished()
    const ends = hooks.map((one) => earlierEnd(one, tree, log, context.owner.processId))
    now = await settle(page, state, ends, { ahead: hooks.find(({ hook }) => hook.readsPublished)?.hook })
  }
  // The ends of hooks that run again no longer count: their files go with the work tree.
  const again = hooksAt(now, 'open', 'logged').map(nameOf)
  const known = again.filter((name) => log.has(name))
  if (known.length > 0) forgetEnds(file, known)
  await tree.open(new Map(Object.entries(now.hidden)))
  if (page.results.areUnwritten) tree.sign(context.owner)
  for (const one of hooksAt(now, 'ended')) await recall(page, one, log)
  return after(lookForFile(page, now), { what: 'opened' })
}

async function endUnrun(page: PageInWork, state: PageState, ends: readonly Unrun[]): Promise<PageState> {
  let now = state
  for (const { one, end, isTold } of ends) {
    await page.results.add({ result: one.result, ...end }, isTold)
    const waitMs = end.event === 'delay' ? retryMs(page, one) : undefined
    now = after(now, { what: 'ended unrun', hook: one.hook, end, waitMs })
    if (state.whyNot?.kind === 'given up') await failpoint('publish.hook_given_up')
  }
  return now
}
