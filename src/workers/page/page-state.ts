import type { Hook } from '../../hooks/discover.ts'
import type { FinalStatus, ResultRow } from '../../machines/results.ts'
import type { ReportedEnd } from './consequences.ts'

/** A page in work, as far as it matters to what happens next: plain data, made only by `recovered` and `after`. */
export interface PageState {
  /** Claimed; asked whether it may begin; its rows are begun; its work tree is open. */
  readonly stage: 'claimed' | 'asked' | 'begun' | 'open'
  /** Processes that may still be at work on it, from before the claim. */
  readonly former: readonly string[]
  readonly whyNot?: WhyNot | undefined
  /** Its host grants it no turn for this long. */
  readonly putOffMs?: number | undefined
  /** In run order. */
  readonly hooks: readonly HookState[]
  /** Results of hooks that no longer exist, and whose files are gone. */
  readonly gone: readonly ResultRow[]
  /** Plugins whose set-up failed for the whole crawl, with the reason. */
  readonly unable: Readonly<Record<string, string>>
  /** Plugins whose background hook for the whole crawl does not reopen what it had opened. */
  readonly serving: readonly string[]
  /** How often a hook that fails temporarily is tried again. */
  readonly mostRetries: number
  /** Files of plugins that are hidden from their hooks, which make them again. */
  readonly hidden: Readonly<Record<string, readonly string[]>>
  /** A user's hook has had access to the work tree. */
  readonly isShared: boolean
  /** The URL turned out to be a file. */
  readonly isFile: boolean
  /** The services of the crawl. Doubtful: a hook failed that needs them. */
  readonly service: 'well' | 'doubtful' | 'lost'
  /** A hook has ended that had not ended in an earlier attempt at the page. */
  readonly hasProgressed: boolean
  /** A hook was cut off. */
  readonly wasCutOff: boolean
  readonly stop: Stopped
}

/** Why a page is not worked on, and whether it can be requested again. */
export interface WhyNot {
  readonly kind: 'given up' | 'beyond' | 'refused' | 'refused for now'
  readonly reason: string
}

/** How the worker has to stop. Abort: at once, for a reason of this page; force: at once, with its process. */
export interface Stopped {
  readonly how: 'none' | 'drain' | 'abort' | 'force'
  /** A person or a newer runner wants it, so the page is not to blame. */
  readonly isExplained: boolean
}

/** One hook of a page. */
export interface HookState {
  readonly hook: Hook
  /** Undefined until the page is begun, and while the hook is `late`. */
  readonly result?: ResultRow
  /**
   * `late`: it works on a file, and there is none yet. `logged`: the log has its end, the database not. `postponed`:
   * it is tried again in a later round.
   */
  readonly at: 'late' | 'open' | 'logged' | 'running' | 'ended' | 'postponed'
  /** Why its plugin cannot run. */
  readonly lacks?: string | undefined
  /** It needs the services of the crawl. */
  readonly needsService: boolean
  readonly end?: EndState
  /** The wait until it is tried again. */
  readonly waitMs?: number
  /** The files that it has published are gone. */
  readonly isLost?: boolean
  /** It had ended before and runs again, because what it worked on is gone. */
  readonly isRepeated?: boolean
  /** What it needs is tried again later, and so is it. */
  readonly isWaiting?: boolean
  /** Its end does not count if the services of the crawl were gone. */
  readonly isDoubtful?: boolean
}

/** How a hook ended. */
export interface EndState {
  readonly status: FinalStatus
  readonly output: string
  /** The error that it met, when it failed. */
  readonly cause?: string | undefined
  /** The server was too busy for it, even in its last attempt. */
  readonly isBusy: boolean
  /** Its position among the ends of the page's hooks. */
  readonly place: number
  /** In an earlier round. */
  readonly isEarlier: boolean
  /** An earlier background hook of the plugin still ran, so this end says nothing about the plugin. */
  readonly isAside: boolean
}

/** A hook with its row. */
export type HookOfPage = HookState & { readonly result: ResultRow }

/** The end of a hook as it is reported. `wait`: it is tried again later, with what it needs. */
export interface Told extends Omit<ReportedEnd, 'event'> {
  readonly event: ReportedEnd['event'] | 'wait'
  readonly json?: unknown
}

/** What happened, or was seen. */
export type Fact =
  | { readonly what: 'stop'; readonly stop: Stopped }
  | { readonly what: 'former ended' }
  | { readonly what: 'allowed'; readonly putOffMs: number | undefined }
  | { readonly what: 'refused'; readonly whyNot: WhyNot }
  | {
      readonly what: 'repeated'
      readonly hooks: readonly HookOfPage[]
      readonly files: Readonly<Record<string, readonly string[]>>
    }
  | { readonly what: 'opened' }
  | { readonly what: 'file'; readonly isThere: boolean }
  | { readonly what: 'late added'; readonly rows: readonly ResultRow[] }
  | { readonly what: 'shared' }
  | { readonly what: 'running'; readonly hook: Hook }
  | { readonly what: 'exited'; readonly hooks: readonly Hook[] }
  | { readonly what: 'ended'; readonly hook: Hook; readonly end: Told; readonly waitMs?: number | undefined }
  | { readonly what: 'ended unrun'; readonly hook: Hook; readonly end: Told; readonly waitMs?: number | undefined }
  | { readonly what: 'in vain'; readonly hook: Hook }
  | { readonly what: 'services'; readonly areLost: boolean }

/** A hook as it is now. */
export const hookOf = (state: PageState, hook: Hook): HookState => state.hooks.find((one) => one.hook === hook)!

/** Its hooks that are at one of these. */
export function hooksAt(state: PageState, ...at: readonly Exclude<HookState['at'], 'late'>[]): HookOfPage[] {
  return state.hooks.filter((one): one is HookOfPage => (at as readonly string[]).includes(one.at))
}

/** Whether the server was too busy for a hook until the end. No other hook tries that often again. */
export const wasBusy = ({ hooks }: PageState): boolean => hooks.some(({ end }) => end?.isBusy)

/** Whether this hook may be tried once more. */
export const mayRetry = ({ mostRetries }: PageState, { result }: HookOfPage): boolean => result.retries < mostRetries

/** Whether the URL is a file, and hooks that work on it have not begun. */
export const isLateWanted = ({ isFile, whyNot, hooks }: PageState): boolean =>
  isFile && !whyNot && hooks.some(({ at }) => at === 'late')

/**
 * Whether the files of these hooks may be moved into place instead of copied: only our own hooks have, or will have,
 * access to the work tree.
 */
export function mayMove(state: PageState, hooks: readonly Hook[]): boolean {
  const rest = hooksAt(state, 'open', 'logged', 'running').filter(({ hook }) => !hooks.includes(hook))
  return !state.isShared && !isLateWanted(state) && rest.every(({ hook }) => hook.readsPublished)
}

/**
 * Whether the log of the page tells the next worker how this hook ended. Only for first attempts: then the files in the
 * plugin's folder can be from no other attempt.
 */
export const isInLog = ({ hook, result, isRepeated = false }: HookOfPage): boolean =>
  hook.hosted && result.attempt === 1 && !isRepeated
