import type { Hook } from '../hooks/discover.ts'
import type { ResultRow } from '../machines/results.ts'

/** A hook without a final result, with its row. */
export interface OpenHook {
  readonly hook: Hook
  readonly result: ResultRow
}

const FINAL: ReadonlySet<string> = new Set(['succeeded', 'failed', 'skipped', 'noresults'])

/** Has this attempt ended for good? */
export const isFinal = ({ status }: Pick<ResultRow, 'status'>) => FINAL.has(status)

/**
 * Splits hooks into rows, each of which the host runs as one job. No row has two hooks of one plugin; a hook that reads
 * published files begins a new row. Our own hooks see by themselves whether one that they require has failed.
 */
export function inRows(open: readonly OpenHook[]): OpenHook[][] {
  const rows: OpenHook[][] = []
  for (const one of open) {
    const row = rows.at(-1)
    const joins =
      one.hook.hosted &&
      !one.hook.readsPublished &&
      row?.every(({ hook }) => hook.hosted && hook.plugin !== one.hook.plugin)
    if (joins) row!.push(one)
    else rows.push([one])
  }
  return rows
}
