import type { FailureGroup } from '../db/failures.ts'
import { many, shortId } from './format.ts'
import { oneLine } from './screen/clean.ts'

/** Causes as people see them. */
export interface FailureLine {
  /** `37 pages: connection refused (example.org)` */
  readonly text: string
  readonly isPartial: boolean
  /** What tries these pages again. */
  readonly command: string
}

/**
 * What failed, by cause and host; the kind that most pages have first.
 * @param urlOf the URL of a page, where it is known: one that failed alone is named by it
 */
export function failureLines(
  groups: readonly FailureGroup[],
  urlOf: (snapshotId: string) => string | undefined,
): FailureLine[] {
  return groups.map((group) => {
    const { cause, host, pages, partial, snapshot_ids: ids } = group
    const url = pages === 1 ? urlOf(ids[0]!) : undefined
    const text = url ? `${url}: ${cause}` : `${many(pages, 'page')}: ${cause}${host ? ` (${host})` : ''}`
    return { text: oneLine(text), isPartial: partial === pages, command: retryCommand(group) }
  })
}

function retryCommand({ host, pages, partial, snapshot_ids: ids }: FailureGroup): string {
  if (pages <= ids.length) return `archivebox-ts snapshot retry --failed ${ids.map(shortId).join(' ')}`
  const outcomes = partial === 0 ? 'failed' : partial === pages ? 'partial' : 'failed,partial'
  const where = host === '' ? '' : ` --host ${shellWord(host)}`
  return `archivebox-ts snapshot list --outcome ${outcomes}${where} | archivebox-ts snapshot retry --failed -`
}

/** As a shell takes it for one word: a host may have `$(...)` in it. */
const shellWord = (text: string) => (/^[\w.:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)
