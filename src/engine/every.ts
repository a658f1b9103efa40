import { sleep } from '../base/abort.ts'

type Every = [ms: number, signal: AbortSignal, onError: (error: unknown) => void, work: () => Promise<void> | void]

/**
 * Calls `work` every `ms`, first after `ms`, never twice at once, until `signal` aborts. Errors go to `onError` and do
 * not stop it.
 */
export async function every(...[ms, signal, onError, work]: Every): Promise<void> {
  await sleep(ms, signal)
  await nowAndEvery(ms, signal, onError, work)
}

/** The same, with a first call now. */
export async function nowAndEvery(...[ms, signal, onError, work]: Every): Promise<void> {
  while (!signal.aborted) {
    try {
      await work()
    } catch (error) {
      onError(error)
    }
    await sleep(ms, signal)
  }
}
