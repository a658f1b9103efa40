import { linkOf } from '../../base/urls.ts'
import { scanHtml } from '../../browse/html/scan-html.ts'

const NAMES: ReadonlySet<string> = new Set(['a', 'area', 'base'])
/** Longer URLs hold state, and do not fit into an index. */
const MAX_URL_CHARS = 2048

/**
 * The http(s) links (`a`, `area`) of a page in page order: absolute against `<base>` and `url`, without fragments and
 * duplicates, without the page itself (`url`, `self`), the first `max`.
 */
export function findLinks(html: string, url: string, self: readonly string[], max: number): string[] {
  const links = new Set<string>()
  const own = new Set([url, ...self].flatMap((known) => linkOf(known, url) ?? []))
  // Most pages repeat their links: the cheap comparison comes first.
  const hrefs = new Set<string>()
  let base: string | undefined
  scanHtml(html, {
    names: NAMES,
    open(name, attributes) {
      const href = attributes.get('href')?.trim() ?? ''
      if (name === 'base') base ??= URL.parse(href, url)?.href
      if (name === 'base' || href === '' || href.startsWith('#') || href.length > MAX_URL_CHARS || hrefs.has(href))
        return
      hrefs.add(href)
      const link = linkOf(href, base ?? url)
      if (link !== undefined && link.length <= MAX_URL_CHARS && !own.has(link)) links.add(link)
    },
    done: () => links.size >= max,
  })
  return [...links]
}
