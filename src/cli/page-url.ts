import { messageOf, UsageError } from '../base/errors.ts'
import { archivableUrl } from '../base/urls.ts'

/** The URL of the page that a command is about. Throws UsageError for a URL that cannot be visited. */
export function pageUrl(given: string): string {
  try {
    return archivableUrl(given)
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
}
