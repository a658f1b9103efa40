import { type Headers, headerIn } from './http-message.ts'

/** Statuses of answers that lead to another URL if they name one. Others have their own page. */
export const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

interface Leading {
  /** The target, if it is a redirect. */
  readonly leadsTo?: string | undefined
}

/** A response that arrived completely. */
export interface Whole extends Leading {
  /** Bytes of its body. */
  readonly bytes: number
}

/**
 * Finds what a URL finally leads to: a redirect without its target is no page.
 * @param all complete responses, by URL
 * @returns undefined when that is missing
 */
export function endOf<T extends Leading>(url: string, all: ReadonlyMap<string, T>): T | undefined {
  const seen = new Set<string>()
  let at: string | undefined = url
  while (at !== undefined && !seen.has(at)) {
    seen.add(at)
    const there = all.get(at)
    if (there?.leadsTo === undefined) return there
    at = there.leadsTo
  }
  return undefined
}

/** The target of a redirect; undefined: it is none. */
export function targetOf({ url, status, headers }: Answered): string | undefined {
  const location = REDIRECTS.has(status) ? headerIn(headers, 'location') : undefined
  return location ? URL.parse(location, url)?.href.replace(/#.*$/s, '') : undefined
}

interface Answered {
  readonly url: string
  readonly status: number
  readonly headers: Headers
}
