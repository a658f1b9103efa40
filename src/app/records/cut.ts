import { UsageError } from '../../base/errors.ts'

type Fields = Readonly<Record<string, unknown>>

/** Does a crawl's record show only the first URLs of a longer list? */
export function isCut({ urls, urls_total: total }: Fields): boolean {
  return Array.isArray(urls) && typeof total === 'number' && total > urls.length
}

/** That a crawl cannot be made of a record that shows only a part of its list. */
export function cutRecord({ urls, urls_total: total }: Fields): UsageError {
  return new UsageError(
    `a record of a crawl names ${(urls as unknown[]).length} of ${String(total)} URLs, ` +
      'and the crawl itself is not here',
    'take the whole list: archivebox-ts add --file',
  )
}
