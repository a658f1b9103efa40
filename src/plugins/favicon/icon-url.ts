import { scanHtml } from '../../browse/html/scan-html.ts'

const NAMES: ReadonlySet<string> = new Set(['link', 'base', 'body'])
/** Larger pictures are not tab icons. */
const LARGEST_PIXELS = 256

/**
 * The URL of a page's icon: the largest sensible `<link rel="icon">`, the first of equals; else /favicon.ico of the
 * host. `html` may be empty. Returns an absolute http(s) or data URL.
 */
export function iconUrl(html: string, url: string): string {
  let base = url
  let best: { url: string; pixels: number } | undefined
  let inHead = true
  scanHtml(html, {
    names: NAMES,
    open(name, attributes) {
      const href = attributes.get('href')?.trim() ?? ''
      if (name === 'body') inHead = false
      else if (name === 'base') base = URL.parse(href, url)?.href ?? base
      else if ((attributes.get('rel') ?? '').toLowerCase().split(/\s+/).includes('icon') && href !== '') {
        const found = href.startsWith('data:') ? href : URL.parse(href, base)?.href
        const pixels = pixelsOf(attributes.get('sizes') ?? '')
        if (found !== undefined && /^(?:https?|data):/.test(found) && (!best || pixels > best.pixels))
          best = { url: found, pixels }
      }
    },
    done: () => !inHead,
  })
  return best?.url ?? new URL('/favicon.ico', url).href
}

/**
 * The rank of a size: its pixels, up to the largest sensible; `any` scales. Unknown and too large ones come last, but
 * before none.
 */
function pixelsOf(sizes: string): number {
  if (/\bany\b/i.test(sizes)) return LARGEST_PIXELS
  const widths = [...sizes.matchAll(/(\d{1,5})x\d{1,5}/gi)].map((match) => Number(match[1]))
  return Math.max(0, ...widths.filter((width) => width <= LARGEST_PIXELS))
}
