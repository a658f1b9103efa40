/** What is promised: a ratio to the rival (`x`) or a value in the figure's own unit. */
export type Target =
  | { readonly atMost: number; readonly of: 'ratio' | 'value' }
  | { readonly atLeast: number; readonly of: 'ratio' | 'value' }

/** One measured thing: a value from each round, beside its rival's from the same round. */
export interface Figure {
  readonly bench: string
  readonly what: string
  readonly unit: 'ms' | 's' | 'pages/s' | 'jobs/s' | 'claims/s' | 'xact/s' | 'MB' | '%' | ''
  readonly values: readonly number[]
  /** The yardstick of the machine as it was in that round. */
  readonly rival?: { readonly name: string; readonly values: readonly number[] }
  readonly target?: Target
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** `median [min..max]`. */
export function spread(values: readonly number[], digits = digitsFor(median(values))): string {
  const text = (value: number) => value.toFixed(digits)
  return `${text(median(values))} [${text(Math.min(...values))}..${text(Math.max(...values))}]`
}

/** Round by round, since the machine's other load changes between rounds more than within one. */
export function ratios({ values, rival }: Figure): number[] {
  return rival ? values.map((value, round) => value / rival.values[round]!) : []
}

/** `ok`, `over` (`under` for what should be large), or empty without a target. */
export function verdict(figure: Figure): string {
  const { target } = figure
  if (!target) return ''
  const reached = target.of === 'ratio' ? median(ratios(figure)) : median(figure.values)
  if ('atLeast' in target) return reached >= target.atLeast ? 'ok' : 'under'
  return reached <= target.atMost ? 'ok' : 'over'
}

/** One line for each figure, in columns: what, value, rival, ratio, target, verdict. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.bench,
    figure.what,
    `${spread(figure.values)} ${figure.unit}`.trimEnd(),
    figure.rival ? `${figure.rival.name} ${spread(figure.rival.values)} ${figure.unit}` : '',
    figure.rival ? `${spread(ratios(figure), 2)} x` : '',
    targetText(figure),
    verdict(figure),
  ])
  const widths = rows.reduce<number[]>((wide, row) => row.map((cell, i) => Math.max(wide[i] ?? 0, cell.length)), [])
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

function targetText({ target, unit }: Figure): string {
  if (!target) return ''
  const of = target.of === 'ratio' ? 'x' : unit
  return 'atLeast' in target ? `>= ${target.atLeast} ${of}` : `<= ${target.atMost} ${of}`
}

function digitsFor(value: number): number {
  return Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0
}
