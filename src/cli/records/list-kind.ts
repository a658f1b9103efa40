import { shortId } from '../../base/words.ts'
import type { Column } from '../screen/table.ts'

/** What a list shows of a row. */
export interface ListKind<Row> {
  readonly columns: readonly Column<Row>[]
  /** With `--json`; the row itself when not given. Its fields are a stable interface. */
  readonly record?: (row: Row) => object
  /** The field of the record by which other verbs know it; `id` when not given. */
  readonly idField?: string
}

/** The id of a row: for people its end. */
export const ID = {
  name: 'id',
  value: ({ id }: { readonly id: string }) => shortId(id),
  whole: (row: { readonly id: string }) => row.id,
}
