import { brokenPatterns } from '../../base/urls.ts'
import { passPart } from '../../db/crawl-sources.ts'
import type { CrawlRow } from '../../db/crawls.ts'
import { kyselySql } from '../../db/database.ts'
import { transact } from '../../db/retry.ts'
import { crawlSettings } from '../../hooks/crawl-settings.ts'
import type { CrawlClaim, crawlQueue } from '../../machines/queues.ts'
import { startAtOnce } from '../../machines/start-crawl.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import { addPart } from './expand-list.ts'

/**
 * Adds the next part of the list and moves the crawl to `started`, all of it or nothing. Throws ClaimLost.
 * @param isRelaxed as for `startAtOnce`
 */
export async function startCrawl(
  context: WorkerContext,
  queue: ReturnType<typeof crawlQueue>,
  claim: CrawlClaim<'queued'>,
  isRelaxed: boolean,
): Promise<CrawlClaim<'started'>> {
  const started = await startAtOnce(context.owner, queue, claim, isRelaxed)
  if (started) return started
  return await transact(context.owner.home.db, async (tx, again) => {
    if (again && (await queue.on(kyselySql(tx)).hasMoved(claim, 'started'))) return { ...claim, state: 'started' }
    const added = await addPart(tx, claim)
    if (added && !added.isLast) await passPart(tx, claim.id, added.part)
    const fields = { home_node: context.owner.home.dataDirId, ...(added?.isLast && { next_part: null }) }
    return await queue.on(kyselySql(tx)).move(claim, 'start', context.owner.processId, fields)
  })
}

/** Of crawls of this process: they are claimed again and again. */
const SAID = new Set<string>()

/**
 * A row may hold what `add` refuses today, from an older version, or what no row may say, from another hand: warns, and
 * goes on without it.
 */
export function sayWhatIsLeftOut({ owner, settings, log }: WorkerContext, { id, config }: CrawlRow): void {
  const say = (what: string) => {
    if (!SAID.has(`${id} ${what}`)) log.warn(`crawl ${id}: ${what}`)
    SAID.add(`${id} ${what}`)
  }
  crawlSettings(owner.home.dataDir, settings, config, (why) => say(`${why}; it counts as not set`))
  for (const { pattern, why } of brokenPatterns(`${config.url_allowlist ?? ''}\n${config.url_denylist ?? ''}`))
    say(`the pattern ${pattern} matches nothing: ${why}`)
}
