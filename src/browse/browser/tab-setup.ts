import type { Cdp } from './cdp.ts'
import type { InnerTargets } from './inner-targets.ts'

/** What the browser knows a tab by. */
export interface TabIds {
  readonly context: string
  readonly session: string
  readonly target: string
}

/** Prepares an empty tab for its first page, and what will have sessions of its own in it. */
export type TabSetup = (cdp: Cdp, tab: TabIds, inner: InnerTargets) => Promise<void>
