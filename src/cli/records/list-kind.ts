import { shortId } from '../../base/words.ts'
import type { Column } from '../screen/table.ts'

/** How a list shows its rows. */
export interface ListKind<Row> {
  readonly columns: readonly Column<Row>[]
  /** The record of a row, for `--json`; without it, the row itself. Its fields are a stable interface. */
  readonly record?: (row: Row) => object
  /** The field of the record that other verbs know it by; without it, `id`. */
  readonly idField?: string
}

/** The id of a row; users see its end. */
export const ID = {
  name: 'id',
  value: ({ id }: { readonly id: string }) => shortId(id),
  whole: (row: { readonly id: string }) => row.id,
}
