import { isVisible } from '../../base/words.ts'

/** What names a crawl. */
export interface NamedCrawl {
  readonly label: string
  /** The first of its URLs; there may be a million. */
  readonly urls: readonly string[]
  readonly urlsTotal: number
  /** The title of its first page, if it has one by now. */
  readonly firstTitle: string | null
  /** How many pages it has; more than its list when it follows links. */
  readonly pages: number
}

/**
 * The name of a crawl for users: its label; for one page its title, else its URL; for several the host (or hosts),
 * which stand for them better than any single one, and their number.
 */
export function crawlName(crawl: NamedCrawl): string {
  if (isVisible(crawl.label)) return crawl.label
  const count = Math.max(crawl.urlsTotal, crawl.pages)
  const hosts = [...new Set(crawl.urls.map(hostOf).filter((host) => host !== ''))]
  if (count <= 1) {
    const [url = ''] = crawl.urls
    return crawl.firstTitle !== null && isVisible(crawl.firstTitle) ? crawl.firstTitle : withoutScheme(url) || 'no page'
  }
  const [first = 'pages', ...others] = hosts
  const isAll = crawl.urls.length >= crawl.urlsTotal
  const more =
    others.length === 0 ? '' : ` and ${isAll ? others.length : 'many'} other${others.length === 1 && isAll ? '' : 's'}`
  return `${first}${more} · ${count.toLocaleString('en')} pages`
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? ''
}

function withoutScheme(url: string): string {
  return url.replace(/^[a-z]+:\/\//i, '').replace(/\/$/, '')
}
