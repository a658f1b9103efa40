import type { Hook } from '../../hooks/discover.ts'
import type { ResultRow } from '../../machines/results.ts'

/** A hook without a final result, with its row. */
export interface OpenHook {
  readonly hook: Hook
  readonly result: ResultRow
}

/** Hooks by plugin and name: those of two plugins may have the same name. */
export class OpenHooks {
  readonly #byKey = new Map<string, OpenHook>()

  /** In the order in which they were added. */
  get all(): OpenHook[] {
    return [...this.#byKey.values()]
  }

  add(one: OpenHook): void {
    this.#byKey.set(keyOf(one.hook), one)
  }

  get(hook: Hook): OpenHook {
    return this.#byKey.get(keyOf(hook))!
  }

  has(hook: Hook): boolean {
    return this.#byKey.has(keyOf(hook))
  }

  delete(hook: Hook): void {
    this.#byKey.delete(keyOf(hook))
  }
}

const keyOf = (hook: Hook) => `${hook.plugin}/${hook.name}`

const FINAL: ReadonlySet<string> = new Set(['succeeded', 'failed', 'skipped', 'noresults'])

/** Has this attempt ended for good? */
export const isFinal = ({ status }: Pick<ResultRow, 'status'>) => FINAL.has(status)

/** Hooks with their results, without those that have none. */
export function pairsOf(hooks: readonly Hook[], results: readonly ResultRow[]): OpenHook[] {
  return hooks.flatMap((hook) => {
    const result = results.find((row) => row.plugin === hook.plugin && row.hook_name === hook.name)
    return result ? [{ hook, result }] : []
  })
}

/**
 * Splits hooks into rows, each of which the host runs as one job. No row has two hooks of one plugin; a hook that reads
 * published files begins a new row, which may be run ahead with the one before it. Our own hooks see by themselves
 * whether one that they require has failed.
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
