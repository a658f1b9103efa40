import { UsageError } from '../../base/errors.ts'
import type { Home } from '../../db/home.ts'
import { CRAWLS, type Filters, type Model, SNAPSHOTS } from '../../db/lists/listings.ts'
import { OUTCOMES } from '../../db/tables.ts'
import { findIds } from '../ids.ts'
import { momentOf } from './moment.ts'
import { commaList, namesOf } from './names.ts'

/** The filters of a list, as typed; several values of one are comma-separated. */
export interface FilterWords {
  readonly status?: string | undefined
  readonly outcome?: string | undefined
  readonly urlContains?: string | undefined
  /** A part of the title or URL. */
  readonly text?: string | undefined
  readonly host?: string | undefined
  /** Ids may be given by their first or last digits. */
  readonly crawlId?: string | undefined
  readonly snapshotId?: string | undefined
  readonly plugin?: string | undefined
  /** Plugins that made something of the page. */
  readonly made?: string | undefined
  readonly tag?: string | undefined
  /** Dates, or ages: 7d. */
  readonly after?: string | undefined
  readonly before?: string | undefined
}

/** What the caller calls a filter: an option, or a field. */
export type NameOf = (filter: keyof FilterWords) => string

/**
 * Parses filters: words are checked at once, ids once the home is open. Throws UsageError.
 * @param nameOf how an error names a filter
 */
export function filtersOf(
  model: Model,
  words: FilterWords,
  nameOf: NameOf = (filter) => filter,
): (home: Home) => Promise<Partial<Filters>> {
  const { status, outcome, plugin, made, tag, urlContains, text, host, crawlId, snapshotId } = words
  const own: Partial<Filters> = {
    ...(status !== undefined && { status: statusesOf(status, model) }),
    ...(outcome !== undefined && { outcomes: wordsOf(outcome, OUTCOMES, 'outcome', 'the outcomes of a page') }),
    ...(plugin !== undefined && { plugins: namesOf(plugin, nameOf('plugin')) }),
    ...(made !== undefined && { made: namesOf(made, nameOf('made')) }),
    ...(tag !== undefined && { tags: namesOf(tag, nameOf('tag')) }),
    ...timesOf(words, nameOf),
    ...(urlContains !== undefined && { urlContains }),
    ...(text !== undefined && { text }),
    ...(host !== undefined && { host: host.toLowerCase() }),
  }
  return async (home) => ({
    ...own,
    ...(crawlId !== undefined && { crawlId: (await findIds(home, CRAWLS, [crawlId]))[0]! }),
    ...(snapshotId !== undefined && { snapshotId: (await findIds(home, SNAPSHOTS, [snapshotId]))[0]! }),
  })
}

function timesOf(words: FilterWords, nameOf: NameOf): Partial<Filters> {
  const [after, before] = (['after', 'before'] as const).map((name) =>
    words[name] === undefined ? undefined : momentOf(words[name], nameOf(name)),
  )
  if (after && before && after >= before)
    throw new UsageError(`nothing is between ${nameOf('after')} ${words.after} and ${nameOf('before')} ${words.before}`)
  return { ...(after && { after }), ...(before && { before }) }
}

function statusesOf(text: string, { noun, statuses }: Model): string[] {
  return wordsOf(text, statuses, 'status', `the statuses of a ${noun}`)
}

/** The words that were named, out of the known ones. Throws UsageError for an unknown word, and for none. */
function wordsOf<Word extends string>(text: string, known: readonly Word[], what: string, all: string): Word[] {
  const wanted = commaList(text)
  const unknown = wanted.find((word) => !(known as readonly string[]).includes(word))
  if (unknown === undefined && wanted.length > 0) return wanted as Word[]
  throw new UsageError(`there is no ${what} "${unknown ?? text}"`, `${all} are ${known.join(', ')}`)
}
