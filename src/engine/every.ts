import { sleep } from '../base/abort.ts'

/**
 * Calls `work` every `ms`, first after `ms`, never twice at once, until `signal` aborts. Errors go to `onError` and do
 * not stop it.
 */
export async function every(
  ms: number,
  signal: AbortSignal,
  onError: (error: unknown) => void,
  work: () => Promise<void> | void,
): Promise<void> {
  for (;;) {
    await sleep(ms, signal)
    if (signal.aborted) return
    try {
      await work()
    } catch (error) {
      onError(error)
    }
  }
}

/** The same, with a first call now. */
export async function nowAndEvery(
  ms: number,
  signal: AbortSignal,
  onError: (error: unknown) => void,
  work: () => Promise<void> | void,
): Promise<void> {
  try {
    if (!signal.aborted) await work()
  } catch (error) {
    onError(error)
  }
  await every(ms, signal, onError, work)
}
