import type { Importer } from './entry.ts'

/**
 * The formats of lists, each with a module that is loaded when such a list comes; `netscape` means bookmarks. detect.ts
 * tells them apart when none is given.
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

/** A format that is text. */
export type TextFormat = keyof typeof IMPORTERS
/** `history` is that of a browser, a SQLite database. */
export type Format = TextFormat | 'history'
export const FORMATS = [...Object.keys(IMPORTERS), 'history'] as readonly Format[]
