import { shellWord, shortId } from '../../base/words.ts'
import type { FailureGroup } from '../../db/failures.ts'

/** The command line that retries these pages. */
export function retryCommand({ host, pages, partial, snapshot_ids: ids }: FailureGroup): string {
  if (pages <= ids.length) return `archivebox-ts snapshot retry --failed ${ids.map(shortId).join(' ')}`
  const outcomes = partial === 0 ? 'failed' : partial === pages ? 'partial' : 'failed,partial'
  const where = host === '' ? '' : ` --host ${shellWord(host)}`
  return `archivebox-ts snapshot list --outcome ${outcomes}${where} | archivebox-ts snapshot retry --failed -`
}
