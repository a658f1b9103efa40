import type { CrawlLimits } from '../../app/add/new-crawl.ts'
import { type Adopted, adopt, toAdopt } from '../../app/adopt/adopt.ts'
import { collectionIn, type FoundCollection } from '../../app/adopt/collection-in.ts'
import { oneLine } from '../../base/clean.ts'
import { EXIT } from '../../base/errors.ts'
import { many } from '../format.ts'
import { asProcess, openHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { onStderr } from '../screen/palette.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** How many of the snapshots that were not imported are named. */
const NAMED = 10

/**
 * `add --from-archivebox`: imports a collection of ArchiveBox with its files. What was not archived there is queued.
 * Throws UsageError for a folder that is no collection.
 */
export async function addArchiveBox(
  options: GlobalOptions,
  dir: string,
  crawl: CrawlLimits,
  { isDry, byLinks }: { readonly isDry: boolean; readonly byLinks: boolean },
): Promise<number> {
  const found = await collectionIn(dir, byLinks)
  const { collection, unread } = found
  if (isDry) return await sayPlan(options, found)
  const open = await openHome(options, 'if-empty')
  try {
    return await asProcess(open.home, 'cli', async () => {
      const tell = ({ read, taken }: { read: number; taken: number }) =>
        terminal.live([`${read} snapshots read, ${taken} imported`])
      const adopted = await adopt(open, { collection, crawl }, { tell }).finally(() => terminal.live([]))
      say(options, adopted, unread)
      if (wantsJson(options)) for (const record of adopted.records) printRecord(record)
      return adopted.refused.length + unread.size > 0 ? EXIT.failed : EXIT.ok
    })
  } finally {
    await open.close()
  }
}

function say(options: GlobalOptions, adopted: Adopted, unread: ReadonlySet<string>): void {
  const { read, taken, before, linked, copied, bytes, refused, left, queued } = adopted
  const lacking = [...refused, ...unread]
  sayNotImported(lacking)
  if (options.quiet) return
  const parts = [
    many(read, 'snapshot'),
    `${taken} imported`,
    before > 0 && `${before} imported before`,
    queued && `${queued.urls} not archived there: queued as crawl ${queued.crawlId}`,
    lacking.length > 0 && `${lacking.length} not imported`,
  ]
  terminal.say(parts.filter(Boolean).join(' · '))
  if (taken > 0)
    terminal.say(
      `${many(linked + copied, 'file')}, ${bytes} bytes: ${linked > 0 ? `${linked} linked, ` : ''}${copied} copied`,
    )
  if (left.length > 0)
    terminal.say(`skipped: ${many(left.length, 'link')} among the files, the first ${oneLine(left[0]!)}`)
}

function sayNotImported(reasons: readonly string[]): void {
  for (const reason of reasons.slice(0, NAMED)) terminal.say(`${onStderr.yellow('not imported:')} ${oneLine(reason)}`)
  if (reasons.length > NAMED)
    terminal.say(`${onStderr.yellow('not imported:')} ${reasons.length - NAMED} more like these`)
}

async function sayPlan(options: GlobalOptions, { collection, unread }: FoundCollection): Promise<number> {
  let [read, archived] = [0, 0]
  const refusals: string[] = []
  for await (const { record, refused } of toAdopt(collection)) {
    read += 1
    if (record.from !== undefined) archived += 1
    if (refused !== undefined) refusals.push(refused)
    if (wantsJson(options)) printRecord(record)
    else process.stdout.write(`${oneLine(record.url)}\n`)
  }
  const lacking = [...refusals, ...unread]
  sayNotImported(lacking)
  terminal.say(`dry run: ${many(read, 'snapshot')}, ${archived} of them with files; nothing was written`)
  return lacking.length > 0 ? EXIT.failed : EXIT.ok
}
