import { delimiterOf } from './csv.ts'
import { isUrlName } from './fields.ts'
import type { TextFormat } from './formats.ts'

const SQLITE = 'SQLite format 3\0'
/** A record of ours, or of ArchiveBox. */
const RECORD = /^\{\s*"type"\s*:\s*"[A-Z]/

/** Whether this is the beginning of a SQLite database. */
export function isSqlite(bytes: Buffer): boolean {
  return bytes.subarray(0, SQLITE.length).toString('latin1') === SQLITE
}

/** The format of a text, from its beginning. */
export function formatOf(text: string): TextFormat {
  const head = text.replace(/^\ufeff/, '').trimStart()
  if (/^<!doctype\s+netscape-bookmark/i.test(head)) return 'netscape'
  if (head.startsWith('<')) {
    const [, root] = /<(?:\w+:)?(rss|feed|rdf|opml|html|body|dl|ul|a)[\s>]/i.exec(head) ?? []
    if (/^(?:rss|feed|rdf)$/i.test(root ?? '')) return 'rss'
    if (root?.toLowerCase() === 'opml') return 'opml'
    if (!/^<(?:https?:|www\.)/i.test(head)) return 'html'
  }
  if (/^\[\s*(?:[{"[\]]|$)/.test(head)) return 'json'
  if (head.startsWith('{')) return isJsonLines(head) ? 'jsonl' : 'json'
  const first = head.split(/\r?\n/, 1)[0]!
  const names = first.split(delimiterOf(first)).map((field) => field.replaceAll('"', ''))
  const isTable =
    names.length > 1 ? names.some(isUrlName) || /^"?https?:[^\s"]*"?[,;\t]"/.test(first) : isUrlName(first)
  return isTable ? 'csv' : 'txt'
}

/** Whether each line is a complete object. One of the first two may be broken; a single one must name its type. */
function isJsonLines(head: string): boolean {
  const [first = '', second = ''] = head.split(/\r?\n/, 2)
  if (second.trim() === '') return RECORD.test(first)
  try {
    JSON.parse(first)
    return true
  } catch {
    return second.startsWith('{')
  }
}
