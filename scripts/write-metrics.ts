// Writes the table of all metrics into docs/metrics.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { About } from '../src/app/metrics/exposition.ts'
import { METRICS } from '../src/app/metrics/metrics.ts'

const file = join(import.meta.dirname, '..', 'docs', 'metrics.md')
const TABLE = /^\| metric \|.*?(?=\n\n)/ms

/** The text with the table updated. */
export function withMetrics(text: string): string {
  const rows = Object.entries<About>(METRICS).map(
    ([name, { type, labels = [], help }]) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  )
  const table = ['| metric | type | labels | means |', '| --- | --- | --- | --- |', ...rows].join('\n')
  return text.replace(TABLE, () => table.replaceAll('|  |', '| |'))
}

if (import.meta.main) writeFileSync(file, withMetrics(readFileSync(file, 'utf8')))
