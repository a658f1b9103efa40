import { UsageError } from '../../base/errors.ts'

type Fields = Readonly<Record<string, unknown>>

/** Whether a crawl's record shows only the first URLs of a longer list. */
export function isCut({ urls, urls_total: total }: Fields): boolean {
  return Array.isArray(urls) && typeof total === 'number' && total > urls.length
}

/** The error for a record that shows only a part of its list, which no crawl can be made of. */
export function cutRecord({ urls, urls_total: total }: Fields): UsageError {
  return new UsageError(
    `the record of a crawl has only ${(urls as unknown[]).length} of ${String(total)} URLs, ` +
      'and the crawl itself does not exist here',
    'take the whole list: archivebox-ts add --file',
  )
}
