import { UsageError } from '../../base/errors.ts'
import { isUuid } from '../../base/ids.ts'
import type { Place } from '../../db/lists/questions.ts'

/** Where a list goes on after this row, as text: its id, and of a result that of its page, by which lists of it go. */
export function cursorOf({ id, snapshot_id: page }: Place): string {
  return page === undefined ? id : `${id}.${page}`
}

/** What such a text says. Throws UsageError. */
export function placeOf(cursor: string): Place {
  const [id = '', page, ...rest] = cursor.toLowerCase().split('.')
  if (isUuid(id) && (page === undefined || isUuid(page)) && rest.length === 0)
    return { id, ...(page !== undefined && { snapshot_id: page }) }
  throw new UsageError(`not a place in a list: ${cursor}`, 'a list says where its next part begins')
}
