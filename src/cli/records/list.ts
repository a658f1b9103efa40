import { listRows, type Rows } from '../../app/lists.ts'
import { filtersOf } from '../../app/records/filters.ts'
import type { Home } from '../../db/home.ts'
import type { Filters, Model } from '../../db/lists/listings.ts'
import { otherNodes } from '../../db/nodes.ts'
import { withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { onStderr } from '../screen/palette.ts'
import type { Kind } from './kinds.ts'
import { limitOf, type PrintOptions, printerOf } from './print.ts'

/** The filters, as typed. */
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

/** `list`: newest first; a table on a terminal, otherwise one record per line. */
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
      (limit) => placed(home, listRows({ home }, kind, { filters, ...(limit && { limit }) })),
      nothingFound(kind, Object.keys(filters).length > 0),
    )
  })
}

/** The rows with the names of other nodes that have their files. */
async function* placed<Row extends { readonly id: string }>(home: Home, all: Rows<Row>): Rows<Row> {
  for await (const rows of all) {
    const nodes = rows.map((row) => {
      const { node_id, home_node } = row as { readonly node_id?: string | null; readonly home_node?: string | null }
      return { home_node: node_id ?? home_node ?? null }
    })
    const nodeOf = await otherNodes(home, nodes)
    yield rows.map((row, at) => (nodeOf(nodes[at]!) === '' ? row : { ...row, on_node: nodeOf(nodes[at]!) }))
  }
}

function nothingFound({ noun }: Model, isFiltered: boolean): string {
  return isFiltered
    ? `no ${noun} matches`
    : `there is no ${noun} yet: ${onStderr.bold('archivebox-ts add URL')} adds pages`
}

/**
 * The query that these filters ask for: words are checked at once, ids once the home is open. Throws UsageError.
 */
export function queryOf(
  kind: Model,
  { n, url__icontains: urlContains, ...words }: FilterOptions,
): (home: Home) => Promise<{ readonly filters: Partial<Filters>; readonly limit?: number }> {
  const limit = limitOf(n)
  const filters = filtersOf(kind, { ...words, urlContains }, (filter) => `--${filter}`)
  return async (home) => ({ filters: await filters(home), ...(limit && { limit }) })
}
