const MAX_CHARS = 2000

/**
 * Text that any database column, terminal and JSON reader accepts: one line, no control characters, no unpaired
 * surrogates, at most `max` characters.
 */
export function storableLine(text: string, max: number = MAX_CHARS): string {
  const line = text
    .slice(0, max * 4)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return (line.length > max ? `${line.slice(0, max - 1)}…` : line).toWellFormed()
}
