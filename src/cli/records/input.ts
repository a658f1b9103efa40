import { fstatSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Line } from '../../app/records/line.ts'
import { UsageError } from '../../base/errors.ts'

/** What a verb works on: words of the command line, and lines of stdin. */
export interface Input {
  readonly words: readonly string[]
  readonly lines: readonly Line[]
}

/**
 * Reads what a verb is to work on: its arguments; and stdin, for `-` or when there are no arguments and something is
 * piped in. Throws UsageError when nothing was given at all. Nothing behind an explicit `-` is fine: the pipeline may
 * have found nothing.
 * @param what the verb works on, for the message
 */
export async function readInput(args: readonly string[], what: string): Promise<Input> {
  const words = args.filter((arg) => arg !== '-')
  const asked = words.length < args.length
  const lines = asked || (args.length === 0 && isPiped()) ? await readLines() : []
  if (words.length + lines.length === 0 && !asked)
    throw new UsageError(`no ${what} given`, `name some, or pipe them in, one per line`)
  return { words, lines }
}

/** Whether stdin has something for us. A terminal and /dev/null have not. */
function isPiped(): boolean {
  try {
    const stdin = fstatSync(0)
    return stdin.isFIFO() || stdin.isSocket() || stdin.isFile()
  } catch {
    return false // Closed.
  }
}

async function readLines(): Promise<Line[]> {
  const lines: Line[] = []
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    const text = line.trim()
    if (text && !text.startsWith('#')) lines.push({ text, record: text.startsWith('{') ? parse(text) : undefined })
  }
  return lines
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    throw new UsageError(
      `not a record: ${text.slice(0, 100)}`,
      'a record is one JSON object per line, as the list verbs print them',
    )
  }
}
