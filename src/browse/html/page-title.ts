import { storableLine } from '../../base/storable-line.ts'
import { scanHtml } from './scan-html.ts'

const NAMES: ReadonlySet<string> = new Set(['title', 'meta', 'h1', 'svg'])
const MAX_CHARS = 1000

/**
 * The title of a page: `<title>`, else `og:title`, else the first non-empty `<h1>`; '' when there is none. One line.
 */
export function pageTitle(html: string): string {
  const found = { title: '', og: '', h1: '' }
  let inside: 'title' | 'h1' | undefined
  let buffer = ''
  let drawings = 0
  scanHtml(html, {
    names: NAMES,
    open(name, attributes) {
      if (name === 'svg') drawings++
      // The <title> of a drawing is not the page's.
      else if (name === 'title' && drawings > 0) return
      else if (name === 'meta') {
        if (attributes.get('property')?.toLowerCase() === 'og:title')
          found.og ||= storableLine(attributes.get('content') ?? '', MAX_CHARS)
      } else {
        inside = name === 'title' ? 'title' : 'h1'
        buffer = ''
      }
    },
    text(piece) {
      if (inside && buffer.length < MAX_CHARS * 4) buffer += piece
    },
    close(name) {
      if (name === 'svg') drawings = Math.max(0, drawings - 1)
      else if (name === inside) {
        found[inside] ||= storableLine(buffer, MAX_CHARS)
        inside = undefined
      }
    },
    done: () => found.title !== '',
  })
  // A title or heading that is never closed runs to the end of the page.
  if (inside) found[inside] ||= storableLine(buffer, MAX_CHARS)
  return found.title || found.og || found.h1
}
