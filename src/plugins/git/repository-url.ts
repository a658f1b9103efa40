import { percentDecoded } from '../../base/percent-decoded.ts'

/** A repository that can be cloned. */
export interface Repository {
  readonly url: string
  /** The name of its file: letters, digits, `.`, `_`, `-`. */
  readonly name: string
  /** The URL is certainly one (`.git`); a page of a forge may lead to something else. */
  readonly isCertain: boolean
}

/**
 * The repository at a URL: one whose path ends in `.git`, or the page of one, `/OWNER/NAME`, at one of the forges.
 * Undefined for all other pages: those below a repository would bring it again and again.
 * @param forges host names, without `www.`
 */
export function repositoryAt(text: string, forges: readonly string[]): Repository | undefined {
  const url = new URL(text)
  const parts = url.pathname.split('/').filter(Boolean)
  const isCertain = /[^/]\.git\/?$/i.test(url.pathname)
  const host = url.host.toLowerCase().replace(/^www\./, '')
  const isPage = parts.length === 2 && forges.some((forge) => forge.trim().toLowerCase() === host)
  if (!isCertain && !isPage) return undefined
  url.hash = ''
  url.search = ''
  url.pathname = `/${parts.join('/')}`
  const last = percentDecoded(parts.at(-1)!).replace(/\.git$/i, '')
  const name = last.replace(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^[._-]+/, '')
  return { url: url.href, name: name.slice(0, 60) || 'repository', isCertain }
}
