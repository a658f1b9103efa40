// Writes the table of all events of the log into docs/events.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LOG_EVENTS } from '../src/base/log-events.ts'

const file = join(import.meta.dirname, '..', 'docs', 'events.md')
const TABLE = /^\| event \|.*?(?=\n\n)/ms

/** The text with the table updated. */
export function withEvents(text: string): string {
  const rows = Object.entries(LOG_EVENTS).map(
    ([name, { fields, means }]) => `| \`${name}\` | ${fields.map((field) => `\`${field}\``).join(', ')} | ${means} |`,
  )
  const table = ['| event | fields | means |', '| --- | --- | --- |', ...rows].join('\n')
  return text.replace(TABLE, () => table.replaceAll('|  |', '| |'))
}

if (import.meta.main) writeFileSync(file, withEvents(readFileSync(file, 'utf8')))
