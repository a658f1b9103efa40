import type { FilterWords } from '../../app/records/filters.ts'
import type { Makes, Meanings } from '../../base/makes.ts'
import { isPackage } from '../../pages/model/outputs.ts'

/** What an address tells of a list: its filters, its view, and where it begins. */
export interface AskedList {
  /** What was typed, by the names of the fields; without empty ones. */
  readonly typed: Readonly<Partial<Record<Field, string>>>
  readonly isGrid: boolean
  /** The row after which it begins. */
  readonly below: string | undefined
  /** Where the parts before this one began, as far as known: the latest last. */
  readonly trail: readonly string[]
  /** The address with these changes; undefined ones are removed. It begins at the top unless told otherwise. */
  to(changes: Readonly<Partial<Record<Field | 'view' | 'below' | 'trail', string | undefined>>>): string
}

export const FIELDS = ['q', 'outcome', 'kind', 'tag', 'host', 'crawl', 'url', 'from', 'to'] as const
export type Field = (typeof FIELDS)[number]

interface PageKind {
  readonly name: string
  /** Whether a plugin that makes this makes its page one of the kind. */
  readonly isOf: (makes: Makes) => boolean
}

/** The kinds of pages, by what plugins made of them. */
export const KINDS: ReadonlyMap<string, PageKind> = new Map<string, PageKind>([
  ['picture', { name: 'has a picture', isOf: ({ picture }) => picture }],
  ['article', { name: 'has readable text', isOf: ({ text }) => text !== undefined }],
  ['pdf', { name: 'has a PDF', isOf: ({ mainFile = '' }) => /\.pdf$/i.test(mainFile) }],
  ['media', { name: 'has media', isOf: ({ group }) => group === 'media' }],
  ['replay', { name: 'can be replayed', isOf: (makes) => makes.isRecord || isPackage({ path: makes.mainFile ?? '' }) }],
  ['file', { name: 'is a file', isOf: ({ file }) => file }],
])

/** How many earlier parts can be gone back to. */
const LONGEST_TRAIL = 8

/** Reads the address of a list. @param path of the list */
export function askedList(path: string, query: URLSearchParams): AskedList {
  const said = (name: string) => query.get(name)?.trim() || undefined
  const entries = FIELDS.map((name) => [name, said(name)] as const)
  const typed = Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as AskedList['typed']
  const isGrid = said('view') === 'grid'
  return {
    typed,
    isGrid,
    below: said('below'),
    trail: (said('trail') ?? '').split(' ').filter(Boolean).slice(-LONGEST_TRAIL),
    to(changes) {
      const now = { ...typed, ...(isGrid && { view: 'grid' }), ...changes }
      const words = Object.entries(now).flatMap(([name, value]) => (value ? [[name, value] as [string, string]] : []))
      return words.length === 0 ? path : `${path}?${new URLSearchParams(words)}`
    },
  }
}

/** The typed filters, in the form of the command line. Pages that wait to be begun are a separate list. */
export function filterWords({ typed }: Pick<AskedList, 'typed'>, meanings: Meanings): FilterWords {
  const { q, outcome, kind, tag, host, crawl, url, from, to } = typed
  const asked = kind === undefined ? undefined : KINDS.get(kind)
  // No plugin makes it: its own name is none of a plugin that has made something either.
  const made = (asked && meanings.those(asked.isOf).join()) || kind
  return {
    ...(outcome === undefined
      ? { status: 'sealed,started' }
      : outcome === 'open'
        ? { status: 'queued,paused' }
        : { outcome }),
    ...{ text: q, made, tag, crawlId: crawl, urlContains: url },
    host: host === undefined ? undefined : URL.parse(host)?.host || host,
    after: from,
    before: to === undefined ? undefined : endOf(to),
  }
}

/** A day includes everything up to its end. */
function endOf(to: string): string {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(to) ? new Date(`${to}T00:00:00Z`) : undefined
  if (day === undefined || Number.isNaN(day.getTime())) return to
  return new Date(day.getTime() + 86_400_000).toISOString()
}
