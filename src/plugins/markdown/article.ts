import { own } from '../../base/own.ts'
import { withAddresses } from '../../browse/inert/nowhere.ts'
/** The article within the document that readability wraps around it, with the addresses of its pictures. */
export function mainPart(html: string): string {
  const [start, end] = [html.indexOf('<main>'), html.lastIndexOf('</main>')]
  return withAddresses(start >= 0 && end > start ? html.slice(start + '<main>'.length, end) : html)
}

const KEYS = { title: 'title', byline: 'author', siteName: 'site', publishedTime: 'published', lang: 'lang' } as const

/** The metadata of an article, as YAML front matter, and its title as heading. @param about article.json */
export function frontMatter(about: string | undefined, url: string): string {
  const known = parsed(about)
  const text = (value: unknown) => (typeof value === 'string' ? value.replace(/\s+/g, ' ').trim() : '')
  const lines = Object.entries({ ...KEYS, url: 'url' }).flatMap(([key, name]) => {
    const value = text(key === 'url' ? (known['url'] ?? url) : own(known, key))
    // A JSON string is also a YAML string; a viewer that ignores front matter sees no tag in it, either.
    return value === '' ? [] : [`${name}: ${JSON.stringify(value).replaceAll('<', '\\u003c')}`]
  })
  const title = text(known['title'])
  return `---\n${lines.join('\n')}\n---\n\n${title === '' ? '' : `# ${title.replace(/([\\`*_[\]<])/g, '\\$1')}\n\n`}`
}

function parsed(about: string | undefined): Record<string, unknown> {
  try {
    return { ...(JSON.parse(about ?? '{}') as object) }
  } catch {
    return {}
  }
}
