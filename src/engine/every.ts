import { sleep } from '../base/abort.ts'

/** Does `work` now and then again every `ms`, never twice at once, until `signal` aborts. What it throws goes to `onError`, and it goes on. */
export async function every(
  ms: number,
  signal: AbortSignal,
  onError: (error: unknown) => void,
  work: () => Promise<void> | void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work()
    } catch (error) {
      onError(error)
    }
    await sleep(ms, signal)
  }
}
