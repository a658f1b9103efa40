/** A part of a bar: its share of the whole, and the look of its cells. */
export interface Part {
  readonly amount: number
  readonly style: (cells: string) => string
}

/**
 * A bar of `width` cells. Every part that is not empty has a cell, as long as there are cells, and only complete work
 * fills the bar.
 */
export function bar(parts: readonly Part[], total: number, width: number, ascii: boolean): string {
  const [full, empty] = ascii ? ['#', '-'] : ['█', '░']
  const done = parts.reduce((sum, { amount }) => sum + amount, 0)
  const exact = total > 0 ? (done / total) * width : 0
  let cells = done >= total && total > 0 ? width : Math.min(width - 1, Math.max(done > 0 ? 1 : 0, Math.floor(exact)))
  let left = done
  let drawn = ''
  // The rare ones first: a failure among thousands must be seen.
  const some = parts.filter(({ amount }) => amount > 0)
  const widths = new Map<Part, number>()
  for (const part of some.toSorted((a, b) => a.amount - b.amount)) {
    const share = part.amount === left ? cells : Math.min(cells, Math.max(1, Math.round((part.amount / left) * cells)))
    widths.set(part, share)
    cells -= share
    left -= part.amount
  }
  let used = 0
  for (const part of some) {
    const share = widths.get(part)!
    used += share
    if (share > 0) drawn += part.style(full.repeat(share))
  }
  return drawn + empty.repeat(Math.max(0, width - used))
}
