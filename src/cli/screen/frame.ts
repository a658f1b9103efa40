/** Between these two the terminal holds back its output; one that does not know them ignores them. */
const BEGIN = '\u001b[?2026h'
const END = '\u001b[?2026l'
const ERASE_LINE_END = '\u001b[K'
const ERASE_BELOW = '\u001b[J'

/** Text that is written and shown in one go. */
export function atOnce(text: string): string {
  return text === '' ? '' : `${BEGIN}${text}${END}`
}

/** The output that turns a screen with the lines `before`, from its top left corner on, into one with `after`. */
export function repaint(before: readonly string[] | undefined, after: readonly string[]): string {
  if (before === undefined)
    return atOnce(`\u001b[H${after.map((line) => `${line}${ERASE_LINE_END}`).join('\r\n')}${ERASE_BELOW}`)
  const changed = after.flatMap((line, index) =>
    line === before[index] ? [] : [`\u001b[${index + 1};1H${line}${ERASE_LINE_END}`],
  )
  if (after.length < before.length) changed.push(`\u001b[${after.length + 1};1H${ERASE_BELOW}`)
  return atOnce(changed.join(''))
}

/**
 * The output that replaces the lines at the foot, with the cursor on the last one, below what is printed meanwhile.
 * @param rows how many rows the old lines take by now: a terminal that became narrower has wrapped them
 * @param said whole lines that go above, and stay
 */
export function refoot(before: readonly string[], rows: number, said: string, after: readonly string[]): string {
  if (said === '' && rows === before.length && before.length === after.length && rows > 0) {
    if (after.every((line, index) => line === before[index])) return ''
    // The last one always: the cursor must end behind it, where the terminal echoes keys.
    const changed = after.map((line, index) =>
      line === before[index] && index < after.length - 1 ? '' : `\r${line}${ERASE_LINE_END}`,
    )
    return atOnce(`${up(rows - 1)}\r${changed.join('\u001b[B')}`)
  }
  if (said === '' && rows === 0 && after.length === 0) return ''
  const erase = rows === 0 ? '' : `${up(rows - 1)}\r${ERASE_BELOW}`
  return atOnce(`${erase}${said}${after.join('\r\n')}`)
}

const up = (rows: number) => (rows > 0 ? `\u001b[${rows}A` : '')
