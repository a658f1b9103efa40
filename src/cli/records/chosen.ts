import type { Archive } from '../../app/archive.ts'
import { checkIds, findIds } from '../../app/ids.ts'
import type { Line } from '../../app/records/line.ts'
import { UsageError } from '../../base/errors.ts'
import { isUuid } from '../../base/ids.ts'
import { listedByIds } from '../../db/lists/listings.ts'
import { asProcess, withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { printJson, printRecord, terminal, wantsJson } from '../terminal.ts'
import { readInput } from './input.ts'
import type { Kind } from './kinds.ts'

/** The rows that a verb is to work on. */
export interface Chosen<Row> {
  readonly open: Archive
  readonly rows: readonly Row[]
  readonly ids: readonly string[]
}

/**
 * Finds the named rows, by id or by record, and passes them to `work`. Other records go to stdout unchanged. An
 * unknown id is wrong usage, and nothing is changed; a record whose row has since been deleted is only reported.
 * @returns what `work` returns
 */
export async function withChosen<Row extends { readonly id: string }>(
  options: GlobalOptions,
  kind: Kind<Row>,
  args: readonly string[],
  work: (chosen: Chosen<Row>) => Promise<unknown>,
): Promise<unknown> {
  const { words, lines } = await readInput(args, `${kind.noun} id`)
  const others = lines.filter(({ record }) => record?.['type'] !== undefined && record['type'] !== kind.type)
  const records = lines.filter((line) => line.record && !others.includes(line)).map(idOf)
  const texts = [...words, ...lines.filter(({ record }) => !record).map(({ text }) => text)]
  checkIds(texts)
  return await withHome(options, async (home, open): Promise<unknown> => {
    const ids = [...new Set([...(texts.length > 0 ? await findIds(home, kind, texts) : []), ...records])]
    const rows = await listedByIds(home.db, kind, ids)
    for (const { text } of others) printJson(text)
    if (rows.length < ids.length) terminal.say(`${ids.length - rows.length} of these no longer exist`)
    if (rows.length === 0) return terminal.say(`nothing to do: no ${kind.noun} among these`)
    return await asProcess(home, 'cli', () => work({ open, rows, ids: rows.map(({ id }) => id) }))
  })
}

function idOf({ text, record }: Line): string {
  const id = record?.['id']
  if (typeof id === 'string' && isUuid(id)) return id.toLowerCase()
  throw new UsageError(`a record without an id: ${text.slice(0, 100)}`)
}

/** Prints the changed rows as records, unless stdout is a terminal. */
export async function printChanged<Row extends { readonly id: string }>(
  options: GlobalOptions,
  { home }: Pick<Archive, 'home'>,
  kind: Kind<Row>,
  ids: readonly string[],
): Promise<void> {
  if (wantsJson(options)) for (const row of await listedByIds(home.db, kind, ids)) printRecord(kind.record(row))
}
