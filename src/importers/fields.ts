import { dateOf } from './dates.ts'
import type { Entry } from './entry.ts'
import { withScheme } from './scheme.ts'

/** The fields of one entry by name, from JSON or a row of CSV. */
export type Fields = Readonly<Record<string, unknown>>

// The names in exports, the likeliest first; without capitals, blanks and underscores.
const URL_NAMES = [
  'htmlurl',
  'url',
  'uri',
  'href',
  'link',
  'address',
  'givenurl',
  'resolvedurl',
  'sourceurl',
  'externalurl',
  'website',
]
const TITLE_NAMES = ['title', 'name', 'resolvedtitle', 'giventitle', 'text']
const TAG_NAMES = ['tags', 'tagnames', 'labels', 'documenttags', 'keywords']
const NOTE_NAMES = ['notes', 'note', 'extended', 'comment', 'selection', 'description']
const DATE_NAMES = [
  'bookmarkedat',
  'timeadded',
  'dateadded',
  'addedat',
  'savedat',
  'saveddate',
  'createdat',
  'created',
  'time',
  'timestamp',
  'datepublished',
  'published',
  'date',
]
/** Fields that stand in for missing tags: where the entry is. */
const FOLDER_NAMES = ['folder', 'collection']
/** Folder names that mean no folder, or that every browser has. */
const NO_FOLDERS = new Set([
  '',
  'unsorted',
  'unread',
  'bookmarks',
  'bookmarks bar',
  'bookmarks menu',
  'bookmarks toolbar',
  'other bookmarks',
  'mobile bookmarks',
  'favorites',
  'favorites bar',
  'menu',
  'toolbar',
  'unfiled',
  'mobile',
])

export const isUrlName = (name: string) => URL_NAMES.includes(plain(name))

/** The names of columns, if one of these has URLs. One like `Page URL` counts as `url` where no other name is known. */
export function columnNames(row: readonly string[]): readonly string[] | undefined {
  if (row.some((field) => /^https?:/i.test(field))) return undefined
  if (row.some(isUrlName)) return row
  const names = row.map(plain).map((name) => (/^[a-z]+url$/.test(name) ? name : undefined))
  const ofPage = names.findIndex((name) => name !== undefined && !BESIDE_PAGE.test(name))
  const at = ofPage < 0 ? names.findIndex((name) => name !== undefined) : ofPage
  return at < 0 ? undefined : row.with(at, 'url')
}

/** URLs of what belongs to a page. */
const BESIDE_PAGE = /^(?:image|img|photo|picture|cover|preview|thumb|icon|favicon|avatar|logo|feed|rss|api|author|user)/

/** The tags that a folder's name stands for: itself, unless it means nothing. */
export function tagsOfFolder(name: string): string[] {
  return NO_FOLDERS.has(name.trim().toLowerCase()) ? [] : [name.trim()]
}

/**
 * An entry from its fields, whichever service wrote them. If the URL is inside `content` (Karakeep), it is taken from
 * there.
 */
export function entryOf(given: Fields, line?: number): Entry {
  const fields = new Map(Object.entries(given).map(([name, value]) => [plain(name), value]))
  const content = fields.get('content')
  const inner = typeof content === 'object' && content !== null ? entryOf(content as Fields) : undefined
  const first = (names: readonly string[]) =>
    names.map((name) => fields.get(name)).find((value) => typeof value === 'string' && value.trim() !== '') as
      | string
      | undefined
  // Pinboard calls the title "description", and the description "extended".
  const isPinboard = fields.has('extended')
  const folder = FOLDER_NAMES.map((name) => nameOf(fields.get(name))).find((name) => name !== '') ?? ''
  const tags = TAG_NAMES.map((name) => tagsOf(fields.get(name), isPinboard)).find((some) => some.length > 0)
  return {
    url: withScheme(first(URL_NAMES) ?? inner?.url ?? ''),
    title: isPinboard ? first(['description']) : (first(TITLE_NAMES) ?? inner?.title),
    tags: tags ?? tagsOfFolder(folder),
    notes: isPinboard ? first(['extended']) : first(NOTE_NAMES),
    addedAt: DATE_NAMES.map((name) => dateOf(fields.get(name))).find((date) => date !== undefined),
    line,
  }
}

/** Tags as exports write them: a list of words or of objects with a name, JSON, or a text with separators. */
export function tagsOf(value: unknown, isSpaced = false): string[] {
  if (Array.isArray(value)) return value.map(nameOf).filter(Boolean)
  if (typeof value !== 'string') return []
  const text = value.trim()
  if (/^\[.*\]$/s.test(text)) {
    try {
      return tagsOf(JSON.parse(text))
    } catch {
      return tagsOf(text.slice(1, -1).replaceAll(/['"]/g, ''))
    }
  }
  const separator = text.includes('|') ? '|' : isSpaced ? /\s+/ : ','
  return text
    .split(separator)
    .map((tag) => tag.trim())
    .filter(Boolean)
}

function nameOf(value: unknown): string {
  if (typeof value === 'string') return value.trim()
  if (typeof value !== 'object' || value === null) return ''
  const { name, title, label, tag } = value as Record<string, unknown>
  return (
    [name, title, label, tag]
      .find((text) => typeof text === 'string')
      ?.toString()
      .trim() ?? ''
  )
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[\s_-]/g, '')
