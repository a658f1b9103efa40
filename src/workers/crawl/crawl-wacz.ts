import { createWriteStream, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readSetting } from '../../base/config.ts'
import { CRAWL_WACZ } from '../../base/crawl-wacz.ts'
import { messageOf } from '../../base/errors.ts'
import { flush } from '../../base/flush.ts'
import type { CrawlRow } from '../../db/crawls.ts'
import { eachListed } from '../../db/lists/each-listed.ts'
import { SNAPSHOTS } from '../../db/lists/listings.ts'
import { pagesOn } from '../../db/nodes.ts'
import { crawlSettings } from '../../hooks/crawl-settings.ts'
import { selectHooks } from '../../hooks/discover.ts'
import { WaczPages } from '../../pages/wacz.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'

const [PLUGIN, NAME] = CRAWL_WACZ.split('/') as [string, string]
/** An unfinished file, of this worker or of one that was killed. */
const PART = /^\..*\.part$/

/**
 * Writes the WACZ of a crawl whose pages have ended: one file with the WARCs of all, if the plugin `wacz` is enabled,
 * and there are several pages, together not above CRAWL_WACZ_MAX_SIZE. It is made of what is published, so a crawl that
 * was killed midway gets the same as any other. A failure to write it is logged, but does not keep the crawl from
 * ending.
 * @param abort ends it, with nothing left
 * @returns false when it was aborted
 */
export async function writeCrawlWacz(
  { owner: { home, processId }, settings, log }: WorkerContext,
  crawl: CrawlRow,
  abort: AbortSignal,
): Promise<boolean> {
  const { texts, plugins } = crawlSettings(home.dataDir, settings, crawl.config)
  if (!selectHooks(plugins, 'Snapshot', texts, crawl.config.plugins).some(({ plugin }) => plugin === PLUGIN))
    return true
  const most = readSetting('CRAWL_WACZ_MAX_SIZE', texts)
  const folder = join(home.dataDir, crawl.output_dir, PLUGIN)
  const part = join(folder, `.${processId}.part`)
  const pages = new WaczPages(home)
  try {
    await eachListed(home.db, SNAPSHOTS, { filters: { crawlId: crawl.id } }, (some) => {
      for (const page of some) if (pages.size <= most) pages.add(page)
      return pages.size <= most && !abort.aborted
    })
    if (pages.size > most && most > 0)
      log.info(
        `crawl ${crawl.id} has more than CRAWL_WACZ_MAX_SIZE: ` +
          `archivebox-ts export --format wacz --crawl-id ${crawl.id} > ${NAME}`,
      )
    if (abort.aborted) return false
    if (pages.size > most || pages.count < 2) {
      rmSync(join(folder, NAME), { force: true }) // From an earlier run, when there was less or more.
      return true
    }
    mkdirSync(folder, { recursive: true })
    for (const name of readdirSync(folder)) if (PART.test(name)) rmSync(join(folder, name))
    await pages.write(
      createWriteStream(part, { flags: 'wx', signal: abort }),
      crawl.label || crawl.urls.split('\n')[0]!,
    )
    for (const { name, pages: lacking } of await pagesOn(home.db, pages.away))
      log.warn(`crawl ${crawl.id}: ${NAME} lacks ${lacking} pages, whose files are on node ${name}`)
    await flush([part])
    renameSync(part, join(folder, NAME))
    // A deletion removes the files of its page first, and then this one: whichever comes second sees the other.
    if (!pages.areThere) rmSync(join(folder, NAME), { force: true })
    await flush([folder])
  } catch (error) {
    rmSync(part, { force: true })
    if (!abort.aborted) log.warn(`crawl ${crawl.id}: no ${NAME}: ${messageOf(error)}`)
  } finally {
    pages.close()
  }
  return !abort.aborted
}
