import { remove } from '../../app/records/remove.ts'
import { AppError, EXIT } from '../../base/errors.ts'
import { sizeText } from '../../base/words.ts'
import type { Home } from '../../db/home.ts'
import type { Model } from '../../db/lists/listings.ts'
import { countBelow } from '../../db/results.ts'
import { many } from '../format.ts'
import type { GlobalOptions } from '../options.ts'
import { printRecord, sayError, terminal, wantsJson } from '../terminal.ts'
import { withChosen } from './chosen.ts'
import type { Kind } from './kinds.ts'
import { printerOf } from './print.ts'

export interface RemoveOptions {
  readonly yes?: boolean
  readonly dryRun?: boolean
}

/** `delete`: deletes rows and their files, for good. Returns 1 when some could not be deleted. */
export async function deleteRows<Row extends { readonly id: string }>(
  options: GlobalOptions,
  kind: Kind<Row>,
  args: readonly string[],
  verb: RemoveOptions,
): Promise<unknown> {
  return await withChosen(options, kind, args, async ({ open, rows, ids }) => {
    const { noun } = kind
    const what = await inWords(open.home, noun, ids)
    if (verb.dryRun) {
      await printerOf(options, kind, {}).all(rows)
      return terminal.say(`dry run: would delete ${what}; nothing was deleted`)
    }
    if (!verb.yes)
      throw new AppError(`nothing was deleted: this would delete ${what}`, {
        hint: '--yes does it, --dry-run lists it',
      })
    const byId = new Map(rows.map((row) => [row.id, row]))
    let refusals = 0
    const nodes = new Set<string>()
    for await (const { id, removed, elsewhere, refused } of remove(open, { noun, ids })) {
      if (refused) sayError(refused)
      if (refused) refusals += 1
      for (const node of elsewhere) nodes.add(node)
      if (removed && wantsJson(options)) printRecord(kind.record(byId.get(id)!))
    }
    const later = inTime(ids.length, [...nodes].toSorted())
    if (refusals === 0) return terminal.say(`deleted ${what}${later}`)
    terminal.say(`${refusals} of ${rows.length} were not deleted${later}`)
    return EXIT.failed
  })
}

/** What becomes of the files that are on other nodes. */
function inTime(rows: number, nodes: readonly string[]): string {
  if (nodes.length === 0) return ''
  const when = nodes.length === 1 ? `node ${nodes[0]} go when that runs` : `nodes ${nodes.join(', ')} go when those run`
  return `; ${rows === 1 ? 'its' : 'their'} files on ${when}`
}

/** `2 crawls with 12 snapshots and 36 results (4.2 MB)` */
async function inWords({ db }: Home, noun: Model['noun'], ids: readonly string[]): Promise<string> {
  const { snapshots, results, bytes } = await countBelow(db, noun, ids)
  const below = [
    ...(noun === 'crawl' ? [many(snapshots, 'snapshot')] : []),
    ...(noun === 'result' ? [] : [many(results, 'result')]),
  ]
  return `${many(ids.length, noun)}${below.length > 0 ? ` with ${below.join(' and ')}` : ''} (${sizeText(bytes)})`
}
