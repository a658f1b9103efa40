import type { LatestResult } from '../db/results.ts'
import type { Outcome } from '../db/tables.ts'
import { causeOf, isConsequence } from './cause.ts'

/** What the verdict on a page asks of a hook's latest result. */
export type JudgedResult = Omit<LatestResult, 'snapshot_id'>

/** How a page went: the columns of a sealed snapshot. */
export interface Verdict {
  readonly outcome: Outcome
  /** One line; null when archived. */
  readonly cause: string | null
  /** Null: nobody answered, or nobody says with what. */
  readonly http_status: number | null
}

/** The word of hooks that a person's cancel kept from running. */
export const CANCELLED = 'cancelled'

/** Plugins that describe a page, prepare it, or find more pages: what they write is no copy of its content. */
const MAKES_NO_COPY = new Set(
  (
    'accessibility chrome chrome_launch chrome_navigate chrome_screencast chrome_tab consolelog dns favicon hashes ' +
    'headers infiniscroll istilldontcareaboutcookies modalcloser redirects responses seo ssl sslcerts title ' +
    'twocaptcha ublock'
  ).split(' '),
)
const makesCopy = ({ plugin }: JudgedResult) => !MAKES_NO_COPY.has(plugin) && !/^(?:parse|search)_/.test(plugin)

/**
 * The verdict on a page from the latest result of each of its hooks.
 *
 * `archived`: a copy is there, and nothing that was asked for failed · `partial`: a copy, but something failed ·
 * `failed`: no copy, or one of an error page. Where no hook was to make a copy, what came out stands for it. What was
 * skipped, or found nothing, failed nothing; but a page of which nothing is kept is `failed`.
 * @param headersStatus what headers.json says that the server answered with
 */
export function verdictOn(results: readonly JudgedResult[], headersStatus: number | null): Verdict {
  const inOrder = results.toSorted((a, b) => (a.hook_name < b.hook_name ? -1 : 1))
  const copies = inOrder.filter((result) => isCopy(result))
  const { plugin, cause: failure } = causeIn(inOrder)
  const http_status = statusOf(inOrder, copies, failure, headersStatus)
  if (http_status !== null && http_status >= 400)
    return { outcome: 'failed', cause: `HTTP ${http_status}`, http_status }
  const copiers = inOrder.filter(makesCopy)
  const isKept =
    copiers.length > 0 ? copies.length > 0 : inOrder.some(({ status }) => status === 'succeeded') || failure === null
  if (isKept && results.length > 0)
    return failure === null
      ? { outcome: 'archived', cause: null, http_status }
      : { outcome: 'partial', cause: causeOfPart(plugin, failure), http_status }
  return { outcome: 'failed', cause: failure ?? emptiness(copiers, http_status), http_status }
}

const isCopy = (result: JudgedResult) => result.status === 'succeeded' && result.has_files && makesCopy(result)

/** The first thing that went wrong; else that somebody cancelled what was left. */
function causeIn(inOrder: readonly JudgedResult[]): { readonly plugin?: string; readonly cause: string | null } {
  const failures = inOrder.filter(({ status }) => status === 'failed')
  const first = failures.find(({ output_str }) => !isConsequence(output_str)) ?? failures[0]
  if (first) return { plugin: first.plugin, cause: causeOf(first.plugin, first.output_str) }
  const isCancelled = inOrder.some(({ status, output_str }) => status === 'skipped' && output_str === CANCELLED)
  return { cause: isCancelled ? CANCELLED : null }
}

/** The page was reached: what a plugin met is its own, and may be about another host. */
function causeOfPart(plugin: string | undefined, cause: string): string {
  return plugin === undefined || cause.startsWith(`${plugin}: `) ? cause : `${plugin}: ${cause}`
}

/** Why nothing is kept though nothing failed. */
function emptiness(copiers: readonly JudgedResult[], status: number | null): string {
  const [first] = copiers
  if (first && copiers.every((result) => result.status === 'skipped')) return first.output_str || 'skipped'
  if (!first) return 'nothing was run'
  return `nothing to keep${status === null || status === 200 ? '' : ` (HTTP ${status})`}`
}

/** What the server answered with: those who made the copies know best, then whoever failed without one. */
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
  // ArchiveBox's chrome says so in its output.
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
