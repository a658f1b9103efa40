import type { Controls } from './controls.ts'
import { find } from './dom.ts'

const RELOAD_MS = 2_000
/** A crawl whose last pages are not in the index yet is looked at again for so long. */
const SETTLE_MS = 60_000
/** A crawl is written every 2 s while it is worked on and pages end; one page may take minutes. */
const QUIET_MS = 90_000
/** For so long how long it takes still is what was written. */
const ESTIMATE_MS = 10_000

/** A page of a crawl: when it was written, and whether the crawl was unfinished then. */
export interface Written {
  readonly live: boolean
  readonly writtenAt: number
}

/** What a page remembers over a reload. */
interface Before {
  readonly y?: number
  readonly caret?: number
}

/**
 * A crawl that is not finished, or whose last pages are not in the index yet, comes again.
 * @param isWhole are all of its pages in the index?
 * @param touchedAt when somebody did something here last
 */
export function reloadLater(
  { live, writtenAt }: Written,
  controls: Controls,
  isWhole: () => boolean,
  touchedAt: () => number,
): void {
  const age = Date.now() - writtenAt
  if (live && age > QUIET_MS) {
    const [quiet, status] = [find('#quiet'), find('.head .status')]
    if (quiet) quiet.hidden = false
    if (status) status.textContent = 'Unfinished'
  }
  if (age > ESTIMATE_MS) find('#left')?.remove()
  if (!live && (age >= SETTLE_MS || isWhole())) return
  setTimeout(() => {
    const isInUse = performance.now() - touchedAt() < RELOAD_MS || String(getSelection()) !== ''
    if (document.hidden || isInUse) return reloadLater({ live, writtenAt }, controls, isWhole, touchedAt)
    const { search } = controls
    const caret = document.activeElement === search ? search.selectionStart : undefined
    try {
      sessionStorage.setItem(location.pathname, JSON.stringify({ y: scrollY, caret }))
    } catch {
      // Without it the page begins at its top.
    }
    location.reload()
  }, RELOAD_MS)
}

/** Puts the caret back where it was before a reload. @returns how far the page was scrolled */
export function afterReload({ search }: Controls): number | undefined {
  try {
    const before = JSON.parse(sessionStorage.getItem(location.pathname) ?? '{}') as Before
    sessionStorage.removeItem(location.pathname)
    if (before.caret !== undefined) {
      search.focus({ preventScroll: true })
      search.setSelectionRange(before.caret, before.caret)
    }
    return before.y
  } catch {
    return undefined // As above.
  }
}
