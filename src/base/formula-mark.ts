// A spreadsheet evaluates a field that begins like a formula, even a title that a page chose. An apostrophe before it
// makes it text there, as OWASP advises (CSV injection).

/** Characters that begin a formula; the minus sign also as a real minus, small, and in full width. */
const SIGN = '[=+\\-@\\u2212\\ufe62\\ufe63\\ufe66\\ufe6b\\uff0b\\uff0d\\uff1d\\uff20]'
/** Blanks and invisible characters before it. */
const BLANK = '(?:(?![\\t\\r\\n])[\\s\\p{Cc}\\p{Cf}]){0,64}'
/**
 * Where a field may begin: at the start of the text, or after a separator of spreadsheets other than ours. The text may
 * have apostrophes of its own there.
 */
const FORMULAS = new RegExp(`(?:^('*)(?=[\\t\\r\\n])|(?<=^|[;\\t\\r\\n])('*)(?=${BLANK}${SIGN}))`, 'gu')
const MARKED = new RegExp(`(?:^'('*)(?=[\\t\\r\\n])|(?<=^|[;\\t\\r\\n])'('*)(?=${BLANK}${SIGN}))`, 'gu')
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** The text of a field of a CSV file that is safe to open in a spreadsheet. Numbers stay numbers. */
export function marked(text: string): string {
  return NUMBER.test(text) ? text : text.replace(FORMULAS, "'$1$2")
}

/** Undoes `marked`. In another program's text, an apostrophe before something like a formula is removed, too. */
export function unmarked(field: string): string {
  return field.replace(MARKED, '$1$2')
}
