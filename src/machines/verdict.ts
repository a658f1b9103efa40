import type { Meanings } from '../base/makes.ts'
import type { LatestResult } from '../db/results.ts'
import type { Outcome } from '../db/tables.ts'
import { causeOf, isConsequence } from './cause.ts'

/** A hook's latest result, as far as the verdict needs it. */
export type JudgedResult = Omit<LatestResult, 'snapshot_id'>

/** How a page went: columns of a sealed snapshot. */
export interface Verdict {
  readonly outcome: Outcome
  /** One line; null when archived. */
  readonly cause: string | null
  /** Null: nobody answered, or no hook reported it. */
  readonly http_status: number | null
}

/** The output of hooks that did not run because of a cancellation. */
export const CANCELLED = 'cancelled'

/**
 * The verdict on a page from the latest result of each of its hooks.
 *
 * `archived`: there is a copy, and nothing that was requested failed · `partial`: there is a copy, but something failed
 * · `failed`: there is no copy, or only one of an error page. When no hook was meant to make a copy, any output counts
 * as one; and where there is nothing to find, an answer does. Skipped hooks, and those without results, are no
 * failures; but a page of which nothing is kept is `failed`.
 * @param meanings what plugins make
 * @param headersStatus the HTTP status that a plugin has recorded for all
 */
export function verdictOn(results: readonly JudgedResult[], meanings: Meanings, headersStatus: number | null): Verdict {
  const inOrder = results.toSorted((a, b) => (a.hook_name < b.hook_name ? -1 : 1))
  const makes = ({ plugin }: JudgedResult) => meanings.of(plugin)
  const found = inOrder.filter((result) => makes(result).isCopy && isKept(result))
  const isOfRecords = found.every((result) => makes(result).isRecord)
  const copies = inOrder.some(isEmptyAnswer) && isOfRecords ? [] : found
  const { plugin, cause: failure } = causeIn(inOrder)
  const http_status = statusOf(inOrder, copies, failure, headersStatus)
  if (http_status !== null && http_status >= 400 && !copies.some((copy) => makes(copy).fetchesItself))
    return { outcome: 'failed', cause: `HTTP ${http_status}`, http_status }
  const copiers = inOrder.filter((result) => makes(result).isCopy)
  const hasSomething =
    copiers.length > 0
      ? copies.length > 0
      : inOrder.some(({ status }) => status === 'succeeded') || (failure === null && http_status !== null)
  if (hasSomething && results.length > 0)
    return failure === null
      ? { outcome: 'archived', cause: null, http_status }
      : { outcome: 'partial', cause: causeOfPart(plugin, failure), http_status }
  return {
    outcome: 'failed',
    cause: failure ?? emptiness(copiers.length > 0 ? copiers : inOrder, http_status),
    http_status,
  }
}

/** The verdict on a page without an index of its own, or with a plain one. @param why in one line */
export function withoutIndex<V extends Pick<Verdict, 'cause'> & { readonly outcome: Outcome | null }>(
  verdict: V,
  why: string | undefined,
): V {
  return why !== undefined && verdict.outcome === 'archived' ? { ...verdict, outcome: 'partial', cause: why } : verdict
}

const isEmptyAnswer = ({ output_str, output_json }: JudgedResult) =>
  output_str.startsWith('an empty answer') || (output_json as { empty?: unknown } | null)?.empty === true

/** A truncated body counts as failed, and what is kept of it is a copy all the same. */
const isKept = (result: JudgedResult) => result.has_files && (result.status === 'succeeded' || isTruncated(result))

const isTruncated = ({ status, output_json }: JudgedResult) =>
  status === 'failed' && (output_json as { truncated?: unknown } | null)?.truncated === true

/** The first failure; otherwise, that the rest was cancelled. */
function causeIn(inOrder: readonly JudgedResult[]): { readonly plugin?: string; readonly cause: string | null } {
  const failures = inOrder.filter(({ status }) => status === 'failed')
  const first = failures.find(({ output_str }) => !isConsequence(output_str)) ?? failures[0]
  if (first) return { plugin: first.plugin, cause: causeOf(first.plugin, first.output_str) }
  const isCancelled = inOrder.some(({ status, output_str }) => status === 'skipped' && output_str === CANCELLED)
  return { cause: isCancelled ? CANCELLED : null }
}

/** The page was reached, so the failure is the plugin's own, perhaps about another host. */
function causeOfPart(plugin: string | undefined, cause: string): string {
  return plugin === undefined || cause.startsWith(`${plugin}: `) ? cause : `${plugin}: ${cause}`
}

/** Why nothing is kept although nothing failed. */
function emptiness(copiers: readonly JudgedResult[], status: number | null): string {
  const [first] = copiers
  if (first && copiers.every((result) => result.status === 'skipped')) return first.output_str || 'skipped'
  if (!first) return 'nothing was run'
  const what = copiers.some(isEmptyAnswer) ? 'empty answer' : 'nothing to keep'
  return `${what}${status === null || status === 200 ? '' : ` (HTTP ${status})`}`
}

/** The HTTP status: from the hooks that made copies, else from a hook that failed. */
function statusOf(
  inOrder: readonly JudgedResult[],
  copies: readonly JudgedResult[],
  failure: string | null,
  headersStatus: number | null,
): number | null {
  const served = copies.map(({ output_json }) => ownStatus(output_json)).filter((status) => status !== null)
  if (served.length > 0) return Math.min(...served)
  const refused = Number(/^HTTP (\d{3})$/.exec(failure ?? '')?.[1])
  if (copies.length === 0 && refused) return refused
  // ArchiveBox's chrome reports it in its output.
  const seen = inOrder.map(({ status, output_str }) => status === 'succeeded' && /\bhttp=(\d{3})\b/.exec(output_str))
  const navigated = seen.find((found) => found !== false && found !== null)
  if (navigated) return Number(navigated[1])
  const said = inOrder.map(({ output_json }) => ownStatus(output_json)).find((status) => status !== null)
  return headersStatus ?? said ?? null
}

function ownStatus(json: unknown): number | null {
  const status = (json as { http_status?: unknown } | null)?.http_status
  return isHttpStatus(status) ? status : null
}

export function isHttpStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599
}
