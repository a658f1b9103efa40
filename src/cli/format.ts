import pc from 'picocolors'

/** How long ago, in the largest unit that says something. */
export function ago(date: Date | null): string {
  if (!date) return '-'
  return duration((Date.now() - date.getTime()) / 1000)
}

/** Seconds in words: `4 s`, `3 min`, `2 h`, `5 days`. */
export function duration(seconds: number): string {
  const value = Math.max(0, seconds)
  if (value < 120) return `${Math.round(value)} s`
  if (value < 7200) return `${Math.round(value / 60)} min`
  if (value < 172_800) return `${Math.round(value / 3600)} h`
  return `${Math.round(value / 86_400)} days`
}

/** A table is for reading: no more lines than this, unless asked for. */
export const TABLE_LINES = 100

/** Rows under their headings, columns as wide as their widest cell. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return `${[pc.dim(line(headings)), ...rows.map(line)].join('\n')}\n`
}
