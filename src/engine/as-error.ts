/** The thrown value as an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`not an Error was thrown: ${String(thrown)}`, { cause: thrown })
}
