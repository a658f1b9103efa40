import { marked } from '../../base/formula-mark.ts'

/** A field of a table. Text that a spreadsheet would take for a formula gets a mark that `add` removes again. */
export function csv(value: unknown): string {
  const text =
    value instanceof Date
      ? value.toISOString()
      : typeof value === 'string'
        ? marked(value)
        : value === null || value === undefined
          ? ''
          : JSON.stringify(value)
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
