import { AppError, EXIT } from '../../base/errors.ts'
import { sizeText } from '../../base/words.ts'
import type { Home } from '../../db/home.ts'
import type { Model } from '../../db/lists/listings.ts'
import { countBelow } from '../../db/results.ts'
import { reconcilePages } from '../../workers/repair/reconcile-pages.ts'
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

/** How rows of one kind are deleted. */
export interface Removing<Row> {
  /**
   * Deletes one; false when it was not there any more. Throws AppError when it cannot be, and then nothing of it is
   * deleted.
   */
  readonly remove: (home: Home, id: string) => Promise<boolean>
  /** The pages that show these rows: of which crawls, and of which snapshots. */
  readonly shownBy: (
    home: Home,
    rows: readonly Row[],
  ) => Promise<{ readonly crawls: readonly string[]; readonly snapshots: readonly string[] }>
}

/** `delete`: rows and their files, for good. Answers with 1 when some could not be deleted. */
export async function remove<Row extends { readonly id: string }>(
  options: GlobalOptions,
  kind: Kind<Row>,
  args: readonly string[],
  verb: RemoveOptions,
  removing: Removing<Row>,
): Promise<unknown> {
  return await withChosen(options, kind, args, async ({ home, rows, ids }) => {
    const what = await inWords(home, kind.noun, ids)
    if (verb.dryRun) {
      await printerOf(options, kind, {}).all(rows)
      return terminal.say(`dry run: would delete ${what}; nothing was deleted`)
    }
    if (!verb.yes)
      throw new AppError(`nothing was deleted: this would delete ${what}`, {
        hint: '--yes does it, --dry-run lists it',
      })
    const shownBy = await removing.shownBy(home, rows)
    const refused = await removeEach(options, home, kind, rows, removing)
    await reconcilePages(home, shownBy.crawls, shownBy.snapshots)
    if (refused === 0) return terminal.say(`deleted ${what}`)
    terminal.say(`${refused} of ${rows.length} were not deleted`)
    return EXIT.failed
  })
}

/** Deletes one after another, each whole or not at all. Returns how many could not be. */
async function removeEach<Row extends { readonly id: string }>(
  options: GlobalOptions,
  home: Home,
  kind: Kind<Row>,
  rows: readonly Row[],
  removing: Removing<Row>,
): Promise<number> {
  let refused = 0
  for (const row of rows) {
    try {
      if ((await removing.remove(home, row.id)) && wantsJson(options)) printRecord(kind.record(row))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      refused += 1
      sayError(error)
    }
  }
  return refused
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
