import { findIds } from '../../app/ids.ts'
import { listRows } from '../../app/lists.ts'
import { UsageError } from '../../base/errors.ts'
import type { Home } from '../../db/home.ts'
import type { Filters, Model } from '../../db/lists/listings.ts'
import { OUTCOMES } from '../../db/tables.ts'
import { withHome } from '../home.ts'
import { commaList, namesOf } from '../names.ts'
import type { GlobalOptions } from '../options.ts'
import { onStderr } from '../screen/palette.ts'
import { CRAWL, type Kind, SNAPSHOT } from './kinds.ts'
import { momentOf } from './moment.ts'
import { limitOf, type PrintOptions, printerOf } from './print.ts'

/** The filters as they were typed. */
export interface FilterOptions {
  readonly status?: string
  readonly outcome?: string
  readonly url__icontains?: string
  readonly host?: string
  readonly crawlId?: string
  readonly snapshotId?: string
  readonly plugin?: string
  readonly tag?: string
  readonly after?: string
  readonly before?: string
  readonly n?: string
}

export interface ListOptions extends FilterOptions, PrintOptions {}

/** `list`: newest first; a table on a terminal, one record a line otherwise. */
export async function list<Row extends { readonly id: string }>(
  options: GlobalOptions,
  kind: Kind<Row>,
  verb: ListOptions,
): Promise<void> {
  const query = queryOf(kind, verb)
  const printer = printerOf(options, kind, verb)
  await withHome(options, async (home) => {
    const { filters } = await query(home)
    await printer.list(
      (limit) => listRows({ home }, kind, { filters, ...(limit && { limit }) }),
      nothingFound(kind, Object.keys(filters).length > 0),
    )
  })
}

function nothingFound({ noun }: Model, isFiltered: boolean): string {
  return isFiltered
    ? `no ${noun} is as asked for`
    : `there is no ${noun} yet: ${onStderr.bold('archivebox-ts add URL')} adds pages`
}

/**
 * What is asked for: words are checked at once, ids when the home is open. Throws UsageError.
 */
export function queryOf(
  kind: Model,
  verb: FilterOptions,
): (home: Home) => Promise<{ readonly filters: Partial<Filters>; readonly limit?: number }> {
  const limit = limitOf(verb.n)
  const statuses = verb.status === undefined ? undefined : statusesOf(verb.status, kind)
  const outcomes = verb.outcome === undefined ? undefined : outcomesOf(verb.outcome)
  const plugins = verb.plugin === undefined ? undefined : namesOf(verb.plugin, '--plugin')
  const tags = verb.tag === undefined ? undefined : namesOf(verb.tag, '--tag')
  const times = timesOf(verb)
  return async (home) => ({
    filters: {
      ...(statuses && { status: statuses }),
      ...(outcomes && { outcomes }),
      ...(plugins && { plugins }),
      ...(tags && { tags }),
      ...times,
      ...(await filtersOf(home, verb)),
    },
    ...(limit && { limit }),
  })
}

async function filtersOf(home: Home, verb: FilterOptions): Promise<Partial<Filters>> {
  return {
    ...(verb.url__icontains !== undefined && { urlContains: verb.url__icontains }),
    ...(verb.host !== undefined && { host: verb.host.toLowerCase() }),
    ...(verb.crawlId !== undefined && { crawlId: (await findIds(home, CRAWL, [verb.crawlId]))[0]! }),
    ...(verb.snapshotId !== undefined && { snapshotId: (await findIds(home, SNAPSHOT, [verb.snapshotId]))[0]! }),
  }
}

function timesOf(verb: FilterOptions): Partial<Filters> {
  const [after, before] = [verb.after, verb.before].map((text, at) =>
    text === undefined ? undefined : momentOf(text, at === 0 ? '--after' : '--before'),
  )
  if (after && before && after >= before)
    throw new UsageError(`nothing is between --after ${verb.after} and --before ${verb.before}`)
  return { ...(after && { after }), ...(before && { before }) }
}

function statusesOf(text: string, { noun, statuses }: Model): string[] {
  return wordsOf(text, statuses, 'status', `the statuses of a ${noun}`)
}

const outcomesOf = (text: string) => wordsOf(text, OUTCOMES, 'outcome', 'the outcomes of a page')

/** Of these words those that were named. Throws UsageError for any other, and for none. */
function wordsOf<Word extends string>(text: string, known: readonly Word[], what: string, all: string): Word[] {
  const wanted = commaList(text)
  const unknown = wanted.find((word) => !(known as readonly string[]).includes(word))
  if (unknown === undefined && wanted.length > 0) return wanted as Word[]
  throw new UsageError(`there is no ${what} "${unknown ?? text}"`, `${all} are ${known.join(', ')}`)
}
