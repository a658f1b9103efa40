import type { ResultRow } from '../../machines/results.ts'
import { type HookOfPage, type HookState, hooksAt, isLateWanted, mayMove, type PageState } from './page-state.ts'
import { runsAgain } from './runs-again.ts'
import { type Unrun, unrunIn } from './told.ts'

/** When the crawl's services are lost, its worker notices within this time, and begins no page until they are back. */
const RESTART_MS = 2_000

/** What to do with a page. */
export type Next = PageStep | Way

/** Steps that continue the work. */
export type PageStep =
  | { readonly do: 'end former'; readonly processes: readonly string[] }
  /** Limits, robots.txt, the turn of its host. */
  | { readonly do: 'ask' }
  /** The first hook is marked as running with the same statement, if it can. */
  | { readonly do: 'begin'; readonly first?: HookState | undefined }
  | { readonly do: 'repeat'; readonly hooks: readonly HookOfPage[]; readonly others: readonly ResultRow[] }
  /** Judges ends that were not written yet, and opens the work tree. */
  | { readonly do: 'adopt'; readonly hooks: readonly HookOfPage[] }
  | { readonly do: 'add late'; readonly hooks: readonly HookState[] }
  | { readonly do: 'end unrun'; readonly ends: readonly Unrun[] }
  | RunJob
  | { readonly do: 'run'; readonly hook: HookOfPage }
  | { readonly do: 'end background'; readonly early: boolean }
  | { readonly do: 'look at services' }

/** How the work on a page ends. */
export type Way =
  | { readonly do: 'put off'; readonly afterMs: number }
  | { readonly do: 'release'; readonly afterMs: number | undefined; readonly counts: boolean }
  /** With the reason of the abort. */
  | { readonly do: 'leave' }
  | { readonly do: 'seal' }

/** Runs our own hooks in one job of the host. */
export interface RunJob {
  readonly do: 'run job'
  readonly hooks: readonly HookOfPage[]
  /** The last one of the page, which reads published files, and runs with these before theirs are published. */
  readonly ahead: HookOfPage | undefined
  /** What they write is published as it is. */
  readonly moves: boolean
}

/** What happens next to a page. Nothing else decides that. */
export function plan(state: PageState): Next {
  if (state.former.length > 0) return { do: 'end former', processes: state.former }
  switch (state.stage) {
    case 'claimed':
      return { do: 'ask' }
    case 'asked':
      return state.putOffMs === undefined
        ? { do: 'begin', first: firstInHost(state) }
        : { do: 'put off', afterMs: state.putOffMs }
    case 'begun': {
      const gone = goneIn(state)
      if (gone.length + state.gone.length > 0) return { do: 'repeat', hooks: gone, others: state.gone }
      return { do: 'adopt', hooks: loggedIn(state) }
    }
    case 'open':
      return planOpen(state)
  }
}

function planOpen(state: PageState): Next {
  if (state.service === 'doubtful') return { do: 'look at services' }
  const job = isOver(state) ? [] : nextJob(state)
  const ends = isPostponed(state) || state.service === 'lost' ? [] : unrunIn(state, job)
  if (ends.length > 0) return { do: 'end unrun', ends }
  if (!isOver(state)) {
    if (isLateWanted(state)) return { do: 'add late', hooks: state.hooks.filter(({ at }) => at === 'late') }
    if (job.length > 0) return mustWait(state, job) ? { do: 'end background', early: false } : runOf(state, job)
  }
  const open = hooksAt(state, 'open')
  // They are not done while hooks are left that need them: they run again with those.
  if (hooksAt(state, 'running').length > 0)
    return { do: 'end background', early: isLateWanted(state) || open.some(({ hook }) => !hook.readsPublished) }
  const doubtful = hooksAt(state, 'ended').filter(({ isDoubtful }) => isDoubtful)
  if (state.service === 'lost' && doubtful.length > 0) return { do: 'repeat', hooks: doubtful, others: [] }
  const isLeft = open.length > 0 || isPostponed(state) || isLateWanted(state)
  if (!isLeft && state.service !== 'lost') return { do: 'seal' }
  return state.stop.how === 'abort' ? { do: 'leave' } : releaseOf(state)
}

/**
 * Whether the round is over, whatever hooks are left. If one is tried again later, the others wait: they may need it.
 */
const isOver = (state: PageState) => state.stop.how !== 'none' || isPostponed(state) || state.service === 'lost'
const isPostponed = (state: PageState) => hooksAt(state, 'postponed').length > 0

/** The first hook, when it runs in the host. */
function firstInHost({ hooks, whyNot }: PageState): HookState | undefined {
  const first = hooks.find(({ at }) => at !== 'late')
  return first?.hook.hosted && first.lacks === undefined && !whyNot ? first : undefined
}

/** Hooks that run again because what they made, or worked on, is gone. */
function goneIn({ hooks, whyNot, serving }: PageState): HookOfPage[] {
  if (whyNot?.kind === 'given up') return []
  const all = hooks.filter((one): one is HookOfPage => one.result !== undefined)
  const asRow = (one: HookOfPage) => (one.isLost ? { ...one.result, status: 'queued' as const } : one.result)
  const again = runsAgain(
    all.map((one) => ({ hook: one.hook, result: asRow(one) })),
    new Set(serving),
  )
  return all.filter((one) => one.isLost || again.some(({ hook }) => hook === one.hook))
}

/** Hooks whose ends the log has, up to the first one that must run. One that cannot run is not waited for. */
function loggedIn(state: PageState): HookOfPage[] {
  const open = hooksAt(state, 'open', 'logged').filter(({ at, lacks }) => at === 'logged' || lacks === undefined)
  const first = open.findIndex(({ at }) => at !== 'logged')
  return first === -1 ? open : open.slice(0, first)
}

/**
 * The next hooks that run as one job of the host, or one that does not run in the host. No job has two hooks of one
 * plugin, and a hook that reads published files starts a new one. Our own hooks see by themselves whether one that they
 * require has failed.
 */
function nextJob(state: PageState): HookOfPage[] {
  const job: HookOfPage[] = []
  for (const one of hooksAt(state, 'open')) {
    const joins =
      one.hook.hosted &&
      !one.hook.readsPublished &&
      job.every(({ hook }) => hook.hosted && hook.plugin !== one.hook.plugin)
    if (job.length > 0 && !joins) break
    job.push(one)
  }
  return job
}

/** Whether these hooks read what background hooks write at their end. The hashes, which come last, are of all files. */
function mustWait(state: PageState, job: readonly HookOfPage[]): boolean {
  const isLast = hooksAt(state, 'open').every(({ hook }) => hook.readsPublished)
  return hooksAt(state, 'running').length > 0 && (isLast || job.some(({ hook }) => hook.awaitsBackground))
}

function runOf(state: PageState, job: readonly HookOfPage[]): Next {
  const [first] = job
  if (!first!.hook.hosted) return { do: 'run', hook: first! }
  const ahead = aheadOf(state, job)
  const hooks = [...job, ...(ahead ? [ahead] : [])].map(({ hook }) => hook)
  return { do: 'run job', hooks: job, ahead, moves: mayMove(state, hooks) }
}

/**
 * The hook that runs with a job although it reads published files: the last one of a page, when the work tree already
 * has what is about to be published.
 */
function aheadOf(state: PageState, job: readonly HookOfPage[]): HookOfPage | undefined {
  const rest = hooksAt(state, 'open', 'running').filter((one) => !job.includes(one))
  const [last] = rest
  if (rest.length !== 1 || !last!.hook.readsPublished || !last!.hook.hosted || last!.at === 'running') return undefined
  const isFirst = [...job, last!].every(({ result }) => result.attempt === 1)
  const hooks = job.map(({ hook }) => hook)
  return isFirst && mayMove(state, hooks) ? last : undefined
}

function releaseOf(state: PageState): Way {
  // Nobody can tell who sent a signal or killed our supervisor: a hook of this page may have, and may do so again. The
  // same goes for a browser that was ended.
  if (state.service === 'lost') return { do: 'release', afterMs: RESTART_MS, counts: true }
  const cameToNothing = state.wasCutOff && !state.hasProgressed
  const waits = hooksAt(state, 'postponed').map(({ waitMs }) => waitMs ?? 0)
  return {
    do: 'release',
    afterMs: waits.length > 0 ? Math.max(...waits) : undefined,
    counts: cameToNothing && !state.stop.isExplained,
  }
}
