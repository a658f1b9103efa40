import { defaultTreeAdapter, parse, parseFragment } from 'parse5'
import { AppError } from '../../base/errors.ts'
import type { Document, DocumentFragment } from './tree.ts'

/** The depth of elements; browsers' parsers stop at 512. Each tag is compared with all open elements. */
const MOST_DEPTH = 1_000
/** Elements for each tag, and some that need no tag. */
const MOST_FOR_TAG = 4
const MOST_MORE = 10_000

/** Parses a page as browsers do. Throws AppError if that would take too long. */
export const readTree = (html: string): Document => parse(html, { treeAdapter: measured(html) })

/** The same for a fragment. */
export const readFragment = (html: string): DocumentFragment => parseFragment(html, { treeAdapter: measured(html) })

/** The result of `read`; undefined: the page cannot be parsed. */
export function unlessRefused<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}

/**
 * Limits the elements that a parser makes of a text: it reopens all unclosed formatting elements (`<font>`) in each
 * block that follows, so that 25 kB become millions of elements.
 */
function measured(html: string): typeof defaultTreeAdapter {
  const most = MOST_FOR_TAG * tagsIn(html) + MOST_MORE
  let elements = 0
  let depth = 0
  return {
    ...defaultTreeAdapter,
    createElement(...all) {
      if (++elements > most) throw new AppError(`its ${html.length} characters would make more than ${most} elements`)
      return defaultTreeAdapter.createElement(...all)
    },
    onItemPush() {
      if (++depth > MOST_DEPTH) throw new AppError(`its elements are nested deeper than ${MOST_DEPTH}`)
    },
    onItemPop() {
      depth -= 1
    },
  }
}

function tagsIn(html: string): number {
  let tags = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) tags += 1
  return tags
}
