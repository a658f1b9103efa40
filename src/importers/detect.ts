import { parse } from 'csv-parse/sync'
import { delimiterOf } from './csv.ts'
import { columnNames, isUrlName } from './fields.ts'
import type { TextFormat } from './formats.ts'
import { isWebUrl } from './scheme.ts'

const SQLITE = 'SQLite format 3\0'
/** A record of ours, or of ArchiveBox. */
const RECORD = /^\{\s*"type"\s*:\s*"[A-Z]/

/** Comments and instructions: they may contain tags. */
const BEFORE_ROOT = /^(?:<!--[\s\S]*?-->\s*|<\?[\s\S]*?\?>\s*)*/
const ROOT = /<(?:\w+:)?(?:(rss|feed|rdf|urlset|sitemapindex|posts)|(opml)|html|body|dl|ul|a)[\s>]/i
/** How many lines tell whether they are rows. */
const FIRST_LINES = 10

/** Whether this is the beginning of a SQLite database. */
export function isSqlite(bytes: Buffer): boolean {
  return bytes.subarray(0, SQLITE.length).toString('latin1') === SQLITE
}

/** The format of a text, from its beginning. */
export function formatOf(text: string): TextFormat {
  const head = text.replace(/^\ufeff/, '').trimStart()
  if (head.startsWith('<')) {
    const elements = head.replace(BEFORE_ROOT, '')
    if (/^<!doctype\s+netscape-bookmark/i.test(elements)) return 'netscape'
    const [, feed, opml] = ROOT.exec(elements) ?? []
    if (feed !== undefined) return 'rss'
    if (opml !== undefined) return 'opml'
    if (!/^<(?:https?:|www\.)/i.test(head)) return 'html'
  }
  if (/^\[\s*(?:[{"[\]]|$)/.test(head)) return 'json'
  if (head.startsWith('{')) return isJsonLines(head) ? 'jsonl' : 'json'
  return isTable(head.split(/\r?\n/, FIRST_LINES)) ? 'csv' : 'txt'
}

function isTable(lines: readonly string[]): boolean {
  const first = lines[0]!
  const delimiter = delimiterOf(first)
  const names = first.split(delimiter).map((field) => field.replaceAll('"', ''))
  if (names.length === 1) return isUrlName(first)
  if (names.some(isUrlName) || /^"?https?:[^\s"]*"?[,;\t]"/.test(first)) return true
  try {
    // Throws where a row has more or fewer fields.
    return areRows(parse(lines.join('\n'), { delimiter, relax_quotes: true, skip_empty_lines: true }))
  } catch {
    return false
  }
}

/** Whether all have URLs in the same column, below its name or before a title of several words. */
function areRows([first = [], ...others]: string[][]): boolean {
  const names = columnNames(first)
  const at = names ? names.indexOf('url') : first.findIndex(isWebUrl)
  const hasTitle = (row: string[]) => row.slice(at + 1).some((field) => /^(?!https?:)\S+\s+\S/i.test(field))
  if (others.length === 0 || !others.every((row) => isWebUrl(row[at] ?? ''))) return false
  return names !== undefined || hasTitle(first) || others.some(hasTitle)
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
