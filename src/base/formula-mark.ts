// A spreadsheet calculates what a field begins with, also a title that a page chose. An apostrophe before it makes it
// text there, as OWASP advises (CSV injection).

/** What begins a formula: also as a minus sign, small, and in full width. */
const SIGN = '[=+\\-@\\u2212\\ufe62\\ufe63\\ufe66\\ufe6b\\uff0b\\uff0d\\uff1d\\uff20]'
/** Behind blanks, and what cannot be seen. */
const BLANK = '(?:(?![\\t\\r\\n])[\\s\\p{Cc}\\p{Cf}]){0,64}'
/**
 * Where a field may begin: with the text, and, where a spreadsheet separates by something else than we do, behind
 * that. Apostrophes of the text itself may stand there.
 */
const FORMULAS = new RegExp(`(?:^('*)(?=[\\t\\r\\n])|(?<=^|[;\\t\\r\\n])('*)(?=${BLANK}${SIGN}))`, 'gu')
const MARKED = new RegExp(`(?:^'('*)(?=[\\t\\r\\n])|(?<=^|[;\\t\\r\\n])'('*)(?=${BLANK}${SIGN}))`, 'gu')
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** The text of a field of a CSV file that is safe to open in a spreadsheet. Numbers stay numbers. */
export function marked(text: string): string {
  return NUMBER.test(text) ? text : text.replace(FORMULAS, "'$1$2")
}

/** The text that `marked` got. Of another program's, the apostrophe before what looks like a formula goes, too. */
export function unmarked(field: string): string {
  return field.replace(MARKED, '$1$2')
}
