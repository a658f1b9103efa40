import { MOST_DUE, type OpenSnapshots } from '../../db/open-snapshots.ts'
import { isElsewhere, isIdle } from './crawl-ends.ts'

/** A crawl in work, as far as it matters to what happens next: plain data. */
export interface CrawlState {
  /** Its pages, as of a look just now; undefined: they may have changed. */
  readonly pages?: OpenSnapshots | undefined
  /** This runner may work only on some of its pages. */
  readonly isInScope: boolean
  /** The services for all its pages. Fallen: one has ended by itself; killed: there was no time for their end. */
  readonly services: 'up' | 'fallen' | 'ended' | 'killed'
  /** The one file with all its pages. */
  readonly bundle: 'due' | 'written' | 'cut short'
  readonly isSealed: boolean
  readonly hasSpace: boolean
  /** Whether a page may begin here: no stop is in progress, and there is disk space. */
  readonly mayBegin: boolean
  /** Whether the next part of its list may be expanded although many pages are due: see `ListPace`. */
  readonly isListDue: boolean
  readonly isStopped: boolean
}

export const STARTED: CrawlState = {
  ...{ services: 'up', bundle: 'due', isInScope: true, isSealed: false },
  ...{ hasSpace: false, mayBegin: false, isListDue: true, isStopped: false },
}

export type CrawlNext = CrawlStep | { readonly do: 'release' } | { readonly do: 'rest' }

export type CrawlStep =
  | { readonly do: 'look' }
  | { readonly do: 'serve again' }
  | { readonly do: 'bundle' }
  | { readonly do: 'end services' }
  | { readonly do: 'seal' }
  /** Lets workers begin this many pages; then adds the next pages of the list, or waits for news. */
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
  if (isCutShort || state.isStopped || isIdle(pages) || isElsewhere(pages) || !state.isInScope) return { do: 'release' }
  const areMany = pages.due >= MOST_DUE
  const mayExpand = pages.listed && state.hasSpace && (state.isListDue || !areMany || !state.mayBegin)
  return {
    do: 'work',
    begin: state.mayBegin ? pages.due : 0,
    meanwhile: mayExpand ? 'expand' : areMany ? 'pace' : 'wait',
  }
}
