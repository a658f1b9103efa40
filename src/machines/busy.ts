/** Statuses of a server that is too busy for now: 429 Too Many Requests, 503 Service Unavailable. */
const BUSY = new Set<unknown>([429, 503])

/** The answer of a server that was too busy. */
export interface Busy {
  readonly status: number
  /** How long it asks us to wait, in milliseconds; 0: it does not say. */
  readonly waitMs: number
}

/** Whether a hook's `output_json` says that the server was too busy for the page. */
export function busyIn(json: unknown): Busy | undefined {
  const { http_status: status, retry_after: seconds } = (json ?? {}) as Readonly<Record<string, unknown>>
  if (!BUSY.has(status)) return undefined
  return { status: status as number, waitMs: typeof seconds === 'number' && seconds > 0 ? 1000 * seconds : 0 }
}

/** Whether this is the cause of a page whose server was too busy until the end. */
export function isBusyCause(cause: string): boolean {
  return [...BUSY].some((status) => cause === `HTTP ${String(status)}`)
}
