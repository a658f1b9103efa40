// Writes the table of all settings into docs/settings.md, as the schema has them.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PLUGIN_SETTINGS, SETTINGS, type Setting } from '../src/base/config.ts'

const file = join(import.meta.dirname, '..', 'docs', 'settings.md')
const TABLE = /^\| setting \|.*?(?=\n\n)/ms

/** Every setting under the name that people read. */
export const ALL_SETTINGS: Readonly<Record<string, Setting>> = {
  ...SETTINGS,
  ...Object.fromEntries(Object.entries(PLUGIN_SETTINGS).map(([last, setting]) => [`<PLUGIN>_${last}`, setting])),
}

/** A text with the table as the schema has it. */
export function withSettings(text: string): string {
  const code = (words: string) => (/^[\w./]+$/.test(words) ? `\`${words}\`` : words)
  const rows = Object.entries(ALL_SETTINGS).map(([name, { option, kind, standard, standardIs, by, means }]) => [
    `\`${name}\``,
    option?.replace(/[^, ]+/g, '`$&`') ?? '',
    kind.takes,
    standardIs ?? code(String(standard)),
    by,
    means,
  ])
  const table = [['setting', 'option', 'takes', 'default', 'set by', 'means'], Array(6).fill('---'), ...rows]
  const lines = table.map((cells) => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |'))
  return text.replace(TABLE, () => lines.join('\n'))
}

if (import.meta.main) writeFileSync(file, withSettings(readFileSync(file, 'utf8')))
