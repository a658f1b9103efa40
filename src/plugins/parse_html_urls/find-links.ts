import { scanHtml } from '../base/scan-html.ts'

const NAMES: ReadonlySet<string> = new Set(['a', 'area', 'base'])
/** Longer ones are state in disguise, and no index takes them. */
const MAX_URL_CHARS = 2048

/**
 * The http(s) links (`a`, `area`) of a page in page order: absolute against `<base>` and `url`, without fragments, each once,
 * without the page itself (`url`, `self`), at most `max`. `total` counts those beyond it, too.
 */
export function findLinks(html: string, url: string, self: readonly string[], max: number): { urls: string[]; total: number } {
  let base: string | undefined
  const hrefs = new Set<string>()
  scanHtml(html, {
    names: NAMES,
    open(name, attributes) {
      const href = attributes.get('href')?.trim()
      if (!href) return
      if (name === 'base') base ??= URL.parse(href, url)?.href
      else if (!href.startsWith('#') && href.length <= MAX_URL_CHARS) hrefs.add(href)
    },
  })
  const seen = new Set([url, ...self].flatMap((own) => absolute(own, url) ?? []))
  const urls: string[] = []
  let total = 0
  for (const href of hrefs) {
    const link = absolute(href, base ?? url)
    if (link === undefined || link.length > MAX_URL_CHARS || seen.has(link)) continue
    seen.add(link)
    total++
    if (urls.length < max) urls.push(link)
  }
  return { urls, total }
}

/** The URL without its fragment; undefined when it is none or not http(s). */
function absolute(href: string, base: string): string | undefined {
  const url = URL.parse(href, base)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined
  url.hash = ''
  return url.href
}
