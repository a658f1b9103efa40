import { listedByIds, type Model, RESULTS } from '../../db/lists/listings.ts'
import type { ResultStatus } from '../../db/tables.ts'
import { type Retried, type RetryRequest, retry, WITHOUT_OUTPUT } from '../../machines/retry.ts'
import type { Archive } from '../archive.ts'

export interface RetryInput extends Pick<RetryRequest, 'failed' | 'plugins'> {
  readonly noun: Model['noun']
  readonly ids: readonly string[]
}

/** Another attempt of what ended without output, in these crawls, pages or results; may be narrowed further. */
export async function retryRows(
  { home }: Pick<Archive, 'home'>,
  { noun, ids, ...narrowed }: RetryInput,
): Promise<Retried> {
  if (noun === 'crawl') return await retry(home, { crawls: ids, ...narrowed })
  if (noun === 'snapshot') return await retry(home, { snapshots: ids, ...narrowed })
  const { failed, plugins } = narrowed
  const isLost = (status: ResultStatus) => (failed ? status === 'failed' : WITHOUT_OUTPUT.includes(status))
  const again = (await listedByIds(home.db, RESULTS, ids)).filter(
    ({ status, plugin }) => isLost(status) && (plugins?.includes(plugin) ?? true),
  )
  return await retry(home, { results: again.map(({ id }) => id) })
}
