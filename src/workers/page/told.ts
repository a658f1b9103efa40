import { own } from '../../base/own.ts'
import { neededBy } from '../../machines/cause.ts'
import { after } from './after.ts'
import { Consequences, type ReportedEnd } from './consequences.ts'
import { type HookOfPage, hooksAt, mayRetry, type PageState, type Told } from './page-state.ts'

/** A hook that ends without running. */
export interface Unrun {
  readonly one: HookOfPage
  readonly end: ReportedEnd
  /** The next owner would end it in the same way. */
  readonly isTold: boolean
}

/**
 * Hooks that end without running, with the reason. What failed is reported once, at its cause.
 * @param job the hooks that are next: what the others need may run again, and succeed
 */
export function unrunIn(state: PageState, job: readonly HookOfPage[]): Unrun[] {
  const ends: Unrun[] = []
  let so = state
  for (const one of hooksAt(state, 'open')) {
    const end = unrunEnd(so, one, { isFirst: ends.length === 0, isDue: job.includes(one) })
    if (!end) continue
    ends.push({ one, end, isTold: end.output === one.lacks })
    so = after(so, { what: 'ended unrun', hook: one.hook, end })
    if (end.event === 'delay') break
  }
  return ends
}

interface Around {
  /** The first open hook of the page. */
  readonly isFirst: boolean
  readonly isDue: boolean
}

function unrunEnd(state: PageState, one: HookOfPage, { isFirst, isDue }: Around): ReportedEnd | undefined {
  const { whyNot, unable } = state
  const { plugin } = one.hook
  if (whyNot?.kind === 'given up') return { event: 'fail', output: whyNot.reason }
  // The first one decides for all.
  if (whyNot?.kind === 'refused for now' && isFirst && mayRetry(state, one))
    return { event: 'delay', output: whyNot.reason }
  if (whyNot) return consequencesOf(state).told(plugin, { event: 'fail', output: whyNot.reason })
  if (one.lacks !== undefined) return { event: 'skip', output: one.lacks }
  const failure = own(unable, plugin)
  const isReported = () => state.hooks.some(({ hook, end }) => hook.plugin === plugin && end?.output === failure)
  if (failure !== undefined && !isReported()) return { event: 'fail', output: failure }
  const lacking = isDue ? consequencesOf(state).lacking(one.hook) : undefined
  return lacking === undefined ? undefined : { event: 'skip', output: lacking }
}

/**
 * How the end of a hook is reported. Temporary failures are retried only so often. When a hook lacks what is tried
 * again later, it is tried again, too.
 */
export function told<End extends ReportedEnd>(state: PageState, one: HookOfPage, end: End): Omit<End, 'event'> & Told {
  const needed = end.event === 'skip' ? neededBy(end.output) : undefined
  const waiting = state.hooks.filter(({ at, isWaiting }) => at === 'postponed' || isWaiting)
  if (needed !== undefined && waiting.some(({ hook }) => hook.plugin === needed)) return { ...end, event: 'wait' }
  const isSpent = end.event === 'delay' && !mayRetry(state, one)
  return consequencesOf(state).told(one.hook.plugin, isSpent ? { ...end, event: 'fail' } : end)
}

/** The consequences of the ends so far, in the order in which they came. */
function consequencesOf({ hooks, unable }: PageState): Consequences {
  const ends = hooks.flatMap(({ hook, end }) => (end && !end.isAside ? [{ ...hook, ...end }] : []))
  ends.sort((a, b) => a.place - b.place)
  return new Consequences(ends, Object.keys(unable))
}
