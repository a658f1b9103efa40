import { sleep } from '../base/abort.ts'

/**
 * Does `work` every `ms`, first after `ms`, never twice at once, until `signal` aborts. What it throws goes to
 * `onError`, and it goes on.
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

/** The same, but first of all now. */
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
