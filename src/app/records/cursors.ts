import { UsageError } from '../../base/errors.ts'
import { isUuid } from '../../base/ids.ts'
import type { Place } from '../../db/lists/questions.ts'

/** The place of this row in a list, as text: its id, and for a result that of its page, which its lists go by. */
export function cursorOf({ id, snapshot_id: page }: Place): string {
  return page === undefined ? id : `${id}.${page}`
}

/** Parses such a text. Throws UsageError. */
export function placeOf(cursor: string): Place {
  const [id = '', page, ...rest] = cursor.toLowerCase().split('.')
  if (isUuid(id) && (page === undefined || isUuid(page)) && rest.length === 0)
    return { id, ...(page !== undefined && { snapshot_id: page }) }
  throw new UsageError(`not a cursor of a list: ${cursor}`, 'take it from the list that it continues')
}
