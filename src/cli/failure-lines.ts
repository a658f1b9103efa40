import { retryCommand } from '../app/status/retry-command.ts'
import { discreet } from '../base/clean.ts'
import type { FailureGroup } from '../db/failures.ts'
import { many } from './format.ts'
import { cutEnd, cutUrl } from './screen/fit.ts'
import { widthOf } from './screen/width.ts'

/** A URL that is cut shorter than this is of no use. */
const SHORTEST = 12

/** A cause of failures as users see it. */
export interface FailureLine {
  /** `37 pages` (or the URL of one), and `connection refused (example.org)`. */
  readonly pages: string
  readonly cause: string
  readonly isPartial: boolean
  /** The command that retries these pages. */
  readonly command: string
}

/**
 * The failures, by cause and host; the kind with the most pages first.
 * @param urlOf the URL of a page, if known: it names a page that failed alone
 */
export function failureLines(
  groups: readonly FailureGroup[],
  urlOf: (snapshotId: string) => string | undefined,
): FailureLine[] {
  return groups.map((group) => {
    const { cause, host, pages, partial, snapshot_ids: ids } = group
    const url = pages === 1 ? urlOf(ids[0]!) : undefined
    return {
      pages: url ? discreet(url) : many(pages, 'page'),
      cause: discreet(url || host === '' ? cause : `${cause} (${host})`),
      isPartial: partial === pages,
      command: retryCommand(group),
    }
  })
}

/** `37 pages: connection refused (example.org)` in at most `width` columns, with as much of the cause as fits. */
export function failureText({ pages, cause }: FailureLine, width: number): string {
  const right = cutEnd(cause, Math.max(Math.floor(width / 2), width - 2 - Math.min(widthOf(pages), SHORTEST)))
  return `${cutUrl(pages, width - 2 - widthOf(right))}: ${right}`
}
