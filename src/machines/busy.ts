/** Statuses by which a server says that it is too busy for now: 429 Too Many Requests, 503 Service Unavailable. */
const BUSY = new Set<unknown>([429, 503])

/** What a server said that was too busy. */
export interface Busy {
  readonly status: number
  /** How long it wants to be left alone, in milliseconds; 0: it does not say. */
  readonly waitMs: number
}

/** Whether a hook's `output_json` says that the server was too busy for the page. */
export function busyIn(json: unknown): Busy | undefined {
  const { http_status: status, retry_after: seconds } = (json ?? {}) as Readonly<Record<string, unknown>>
  if (!BUSY.has(status)) return undefined
  return { status: status as number, waitMs: typeof seconds === 'number' && seconds > 0 ? 1000 * seconds : 0 }
}

/** Is this the cause of a page that a server was too busy for until the end? */
export function isBusyCause(cause: string): boolean {
  return [...BUSY].some((status) => cause === `HTTP ${String(status)}`)
}
