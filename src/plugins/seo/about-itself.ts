import { scanHtml } from '../../browse/html/scan-html.ts'

const NAMES: ReadonlySet<string> = new Set(['html', 'title', 'meta', 'link', 'script'])
const LINKS: ReadonlySet<string> = new Set(['canonical', 'amphtml', 'license', 'author', 'prev', 'next', 'shortlink'])
/** The most values: a page must not fill the memory with its own description. */
const MOST = 500
const MOST_CHARS = 200_000

/**
 * The metadata of a page: `title`, `lang`, every `meta` by its name or property (`description`, `og:title`,
 * `twitter:card` ...; several of one name as a list), links such as `canonical`, `alternate` ones with their language
 * or type, and `json_ld`. Empty when it has none.
 */
export function aboutItself(html: string): Readonly<Record<string, unknown>> {
  const metas = new Map<string, string | string[]>()
  const alternates: Readonly<Record<string, string>>[] = []
  const data: unknown[] = []
  let inside: 'title' | 'script' | undefined
  let buffer = ''
  const add = (name: string, value: string) => {
    const known = metas.get(name)
    if (metas.size < MOST && value !== '' && known !== value)
      metas.set(name, known === undefined ? value : [known, value].flat().slice(0, MOST))
  }
  scanHtml(html, {
    names: NAMES,
    open(element, attributes) {
      const value = (name: string) => attributes.get(name)?.trim() ?? ''
      const rel = value('rel').toLowerCase()
      if (element === 'html') add('lang', value('lang'))
      else if (element === 'meta') {
        const name = (value('name') || value('property') || value('itemprop')).toLowerCase()
        if (name !== '') add(name, value('content'))
      } else if (element === 'link' && LINKS.has(rel)) add(rel, value('href'))
      else if (element === 'link' && rel === 'alternate' && alternates.length < MOST)
        alternates.push({
          href: value('href'),
          hreflang: value('hreflang'),
          type: value('type'),
          title: value('title'),
        })
      else {
        const isData = value('type').toLowerCase() === 'application/ld+json'
        inside = element === 'title' && !metas.has('title') ? 'title' : isData ? 'script' : undefined
        buffer = ''
      }
    },
    text(piece) {
      if (inside && buffer.length < MOST_CHARS) buffer += piece
    },
    close(element) {
      if (element !== inside) return
      if (inside === 'title') add('title', buffer.replace(/\s+/g, ' ').trim())
      else data.push(...parsed(buffer))
      inside = undefined
    },
  })
  return {
    ...Object.fromEntries(metas),
    ...(alternates.length > 0 && { alternates: alternates.map(given) }),
    ...(data.length > 0 && { json_ld: data }),
  }
}

/** The fields that are not empty. */
function given(fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''))
}

function parsed(text: string): unknown[] {
  try {
    return [JSON.parse(text)]
  } catch {
    return [] // Invalid data that even its author has never read.
  }
}
