import type { Importer } from './entry.ts'

/**
 * The lists that are read, each by a module that is loaded when such a list comes; `netscape` are bookmarks. How one is
 * told from the others, when nobody says it, is in detect.ts.
 */
export const IMPORTERS = {
  txt: async () => (await import('./text.ts')).text,
  html: async () => (await import('./markup.ts')).markup,
  netscape: async () => (await import('./markup.ts')).markup,
  rss: async () => (await import('./feed.ts')).feed,
  opml: async () => (await import('./feed.ts')).feed,
  json: async () => (await import('./json.ts')).json,
  csv: async () => (await import('./csv.ts')).csv,
  jsonl: async () => (await import('./jsonl.ts')).jsonl,
} satisfies Readonly<Record<string, () => Promise<Importer>>>

/** A list that is a text. */
export type TextFormat = keyof typeof IMPORTERS
/** `history` is that of a browser, a SQLite database. */
export type Format = TextFormat | 'history'
export const FORMATS = [...Object.keys(IMPORTERS), 'history'] as readonly Format[]
