import { MOST_DUE, type OpenSnapshots } from '../../db/open-snapshots.ts'
import { isIdle } from './crawl-ends.ts'

/** A crawl in work, as far as it matters to what happens next: plain data. */
export interface CrawlState {
  /** Its pages, as somebody has just looked; undefined: they may be different by now. */
  readonly pages?: OpenSnapshots | undefined
  /** This runner is to work on some of its pages. */
  readonly isInScope: boolean
  /** What runs for all its pages. Fallen: it has ended by itself; killed: there was no time for its end. */
  readonly services: 'up' | 'fallen' | 'ended' | 'killed'
  /** The one file of all its pages. */
  readonly bundle: 'due' | 'written' | 'cut short'
  readonly isSealed: boolean
  readonly hasSpace: boolean
  /** A page may begin here: a stop is not on its way, and there is room for what it saves. */
  readonly mayBegin: boolean
  readonly isStopped: boolean
}

export const STARTED: CrawlState = {
  ...{ services: 'up', bundle: 'due', isInScope: true, isSealed: false },
  ...{ hasSpace: false, mayBegin: false, isStopped: false },
}

export type CrawlNext = CrawlStep | { readonly do: 'release' } | { readonly do: 'rest' }

export type CrawlStep =
  | { readonly do: 'look' }
  | { readonly do: 'serve again' }
  | { readonly do: 'bundle' }
  | { readonly do: 'end services' }
  | { readonly do: 'seal' }
  /** Has workers begin so many pages; then adds the next pages of the list, or waits for news. */
  | { readonly do: 'work'; readonly begin: number; readonly meanwhile: 'expand' | 'pace' | 'wait' }

/** What happens next to a crawl. Nothing else decides that. */
export function planCrawl(state: CrawlState): CrawlNext {
  const { pages, services, bundle } = state
  if (state.isSealed) return { do: 'rest' }
  if (services === 'fallen') return { do: 'serve again' }
  if (!pages) return { do: 'look' }
  const isCutShort = services === 'killed' || bundle === 'cut short'
  // Before the seal: without a claim nobody would give services their time, or clean up after a crash of ours.
  if (!pages.open && !isCutShort) {
    if (bundle === 'due') return { do: 'bundle' }
    return services === 'up' ? { do: 'end services' } : { do: 'seal' }
  }
  if (isCutShort || state.isStopped || isIdle(pages) || !state.isInScope) return { do: 'release' }
  const wait = pages.due >= MOST_DUE ? 'pace' : 'wait'
  return {
    do: 'work',
    begin: state.mayBegin ? pages.due : 0,
    meanwhile: pages.listed && state.hasSpace ? 'expand' : wait,
  }
}
