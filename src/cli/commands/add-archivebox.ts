import { createHash } from 'node:crypto'
import { existsSync, realpathSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { CrawlLimits } from '../../app/add/new-crawl.ts'
import { trustGiven } from '../../app/trust-given.ts'
import { oneLine } from '../../base/clean.ts'
import { EXIT, messageOf, UsageError } from '../../base/errors.ts'
import { placeInside } from '../../base/inside.ts'
import type { UrlList } from '../../base/url-list.ts'
import { crawlById, insertCrawl } from '../../db/crawls.ts'
import { crawlRecord } from '../../db/records.ts'
import { fromFiles } from '../../importers/archivebox/from-files.ts'
import { readIndex } from '../../importers/archivebox/read-index.ts'
import { adoptedId } from '../../machines/adopt.ts'
import { adoptCollection } from '../../workers/adopt/adopt-collection.ts'
import { type Adoption, type Collection, filesOf } from '../../workers/adopt/collection.ts'
import { many } from '../format.ts'
import { asProcess, openHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { onStderr } from '../screen/palette.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** Of what was not taken so many are named. */
const NAMED = 10

/**
 * `add --from-archivebox`: takes over a collection of ArchiveBox with its files. What was not archived there is queued.
 * Throws UsageError for a folder that is no collection.
 */
export async function addArchiveBox(
  options: GlobalOptions,
  dir: string,
  limits: CrawlLimits,
  { isDry, byLinks }: { readonly isDry: boolean; readonly byLinks: boolean },
): Promise<number> {
  const unread = new Set<string>()
  const collection = { ...(await collectionIn(resolve(dir), unread)), byLinks }
  if (isDry) return await sayPlan(options, collection, unread)
  const open = await openHome(options, 'if-empty')
  try {
    return await asProcess(open.home, 'cli', async () => {
      const adoption = await adoptCollection(open.home, collection, ({ read, taken }) =>
        terminal.live([`${read} snapshots read, ${taken} taken`]),
      )
      terminal.live([])
      const rest = adoption.open.list()
      if (rest) trustGiven(options.known, open.home.dataDir, limits.config)
      const queued = rest && (await insertCrawl(open.home.db, { ...limits, list: rest }, idOfList(rest)))
      say(options, adoption, unread, queued?.id)
      if (wantsJson(options))
        for (const id of [...adoption.crawls, ...(queued ? [queued.id] : [])])
          printRecord(crawlRecord((await crawlById(open.home.db, id))!))
      adoption.open.close()
      return adoption.refused.length + unread.size > 0 ? EXIT.failed : EXIT.ok
    })
  } finally {
    await open.close()
  }
}

/** The same list gets the same crawl, so that whoever begins again does not queue it twice. */
function idOfList(list: UrlList): string {
  const hash = createHash('sha256')
  for (const { urls } of list.parts()) hash.update(`${urls}\n`)
  const [first] = list
  return adoptedId(`list ${hash.digest('hex')}`, new Date(first?.details?.at ?? 0))
}

async function collectionIn(given: string, unread: Set<string>): Promise<Omit<Collection, 'byLinks'>> {
  const label = `ArchiveBox ${basename(given)}`
  const hint = 'it is the folder with index.sqlite3 and archive/ in it'
  if (!existsSync(given) || !statSync(given).isDirectory()) throw new UsageError(`${given} is no folder`, hint)
  const folder = realpathSync.native(given)
  const inside = (name: string) => {
    try {
      return placeInside(folder, name)
    } catch (error) {
      throw new UsageError(messageOf(error), 'what a link leads to is not taken: put it there')
    }
  }
  if (inside('archive') === undefined) throw new UsageError(`${given} is no collection of ArchiveBox`, hint)
  const index = inside('index.sqlite3')
  if (index !== undefined && !statSync(index).isFile()) throw new UsageError(`${index} is no file`, hint)
  const leave = (what: string) => void unread.add(what) // It is read more than once.
  const snapshots = index ? () => readIndex(index, leave) : () => fromFiles(folder, leave)
  const collection = { folder, label, snapshots }
  try {
    for await (const _ of snapshots()) break // Can it be read at all?
  } catch (error) {
    throw new UsageError(`cannot read ${index ?? folder}: ${messageOf(error)}`, hint)
  }
  return collection
}

function say(
  options: GlobalOptions,
  adoption: Adoption,
  unread: ReadonlySet<string>,
  queued: string | undefined,
): void {
  const { read, taken, before, linked, copied, bytes, refused, left, open } = adoption
  const lacking = [...refused, ...unread]
  sayNotTaken(lacking)
  if (options.quiet) return
  const parts = [
    many(read, 'snapshot'),
    `${taken} taken`,
    before > 0 && `${before} here before`,
    open.total > 0 && `${open.total} not archived there: queued as crawl ${queued}`,
    lacking.length > 0 && `${lacking.length} not taken`,
  ]
  terminal.say(parts.filter(Boolean).join(' · '))
  if (taken > 0)
    terminal.say(
      `${many(linked + copied, 'file')}, ${bytes} bytes: ${linked > 0 ? `${linked} linked, ` : ''}${copied} copied`,
    )
  if (left.length > 0)
    terminal.say(`left there: ${many(left.length, 'link')} among the files, the first ${oneLine(left[0]!)}`)
}

function sayNotTaken(reasons: readonly string[]): void {
  for (const reason of reasons.slice(0, NAMED)) terminal.say(`${onStderr.yellow('not taken:')} ${oneLine(reason)}`)
  if (reasons.length > NAMED) terminal.say(`${onStderr.yellow('not taken:')} ${reasons.length - NAMED} more like these`)
}

async function sayPlan(options: GlobalOptions, collection: Collection, unread: ReadonlySet<string>): Promise<number> {
  let [read, archived] = [0, 0]
  const refused: string[] = []
  for await (const snapshot of collection.snapshots()) {
    const { url, title, depth, tags, notes, bookmarkedAt } = snapshot
    let source: ReturnType<typeof filesOf>
    read += 1
    try {
      source = filesOf(collection, snapshot)
    } catch (error) {
      refused.push(`${url}: ${messageOf(error)}`)
    }
    if (source) archived += 1
    if (wantsJson(options))
      printRecord({ type: 'Snapshot', url, title, depth, tags, notes, bookmarked_at: bookmarkedAt, from: source?.path })
    else process.stdout.write(`${oneLine(url)}\n`)
  }
  const lacking = [...refused, ...unread]
  sayNotTaken(lacking)
  terminal.say(`dry run: ${many(read, 'snapshot')}, ${archived} of them with files; nothing was written`)
  return lacking.length > 0 ? EXIT.failed : EXIT.ok
}
