import { messageOf, UsageError } from '../../base/errors.ts'

/** The data that pages of one origin keep in a browser (localStorage). */
export interface OriginStorage {
  readonly origin: string
  readonly localStorage: readonly { readonly name: string; readonly value: string }[]
}

/** The storage of origins in Playwright's storage state; anything invalid is left out. */
export function originsIn(state: unknown): OriginStorage[] {
  const list = typeof state === 'object' && state !== null ? (state as { origins?: unknown }).origins : undefined
  if (!Array.isArray(list)) return []
  return (list as (Partial<OriginStorage> | null)[]).flatMap((entry) => {
    const { origin, localStorage } = entry ?? {}
    if (typeof origin !== 'string' || !Array.isArray(localStorage)) return []
    const kept = localStorage.filter((item) => typeof item?.name === 'string' && typeof item?.value === 'string')
    return kept.length === 0 ? [] : [{ origin, localStorage: kept }]
  })
}

/** The storage of both lists; if the origin is the same, that of the second. */
export function mergedStorage(before: readonly OriginStorage[], after: readonly OriginStorage[]): OriginStorage[] {
  return [...new Map([...before, ...after].map((each) => [each.origin, each])).values()]
}

/** Parses JSON. Throws UsageError, which quotes nothing of it. */
export function jsonIn(text: string, file: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    // The parser quotes the text, which is secret.
    const place = /position \d+|line \d+ column \d+/.exec(messageOf(error))?.[0]
    throw new UsageError(`${file} is not valid JSON${place === undefined ? '' : ` (${place})`}`)
  }
}
