import type { Cdp } from './cdp.ts'
import type { InnerTargets } from './inner-targets.ts'

/** The browser's ids for a tab. */
export interface TabIds {
  readonly context: string
  readonly session: string
  readonly target: string
}

/** Prepares an empty tab for its first page, and everything in it that will have its own session. */
export type TabSetup = (cdp: Cdp, tab: TabIds, inner: InnerTargets) => Promise<void>
