import type { PageCounts } from '../db/counts.ts'
import type { FailureGroup } from '../db/failures.ts'
import { failureLines, failureText } from './failure-lines.ts'
import { onStderr } from './screen/palette.ts'

/** The most kinds of failures that are named. */
const KINDS = 10
/** With at most this many pages the end of each can still be read. */
const FEW_PAGES = 10

export type Outcomes = Pick<PageCounts, 'archived' | 'partial' | 'failed'>

/** `2 archived, 1 failed`; green stands for archived alone. */
export function outcomesText({ archived, partial, failed }: Outcomes, palette = onStderr): string {
  const parts = [
    archived > 0 ? palette.green(`${archived} archived`) : '',
    partial > 0 ? palette.yellow(`${partial} partial`) : '',
    failed > 0 ? palette.red(`${failed} failed`) : '',
  ]
  return parts.filter(Boolean).join(', ')
}

/**
 * The failures, a line for each kind. A page that failed alone was named when it ended; with many pages that line is
 * out of sight by now.
 * @param urls of pages by their ids, as far as known
 * @param total all pages, archived ones included
 */
export function failuresText(
  groups: readonly FailureGroup[],
  urls: ReadonlyMap<string, string>,
  total: number,
  columns: number,
): string[] {
  const lines = failureLines(
    groups.filter(({ pages }) => pages > 1 || total > FEW_PAGES),
    (id) => urls.get(id),
  )
  // One more line takes no more room than a line that counts it.
  const shown = lines.length === KINDS + 1 ? lines : lines.slice(0, KINDS)
  const said = shown.map((line) => onStderr[line.isPartial ? 'yellow' : 'red'](failureText(line, columns)))
  return lines.length > shown.length ? [...said, `and ${lines.length - shown.length} more kinds of failures`] : said
}
