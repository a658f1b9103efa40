import { messageOf } from '../base/errors.ts'
import { nowAndEvery } from '../engine/every.ts'

/** Checking whether there is something to do costs next to nothing. */
const LOOK_MS = 1_000

/**
 * Runs each job now and once a second, on its own timer, and never twice at once. A failed job is tried again the next
 * time, and does not affect the others.
 * @param jobs by name
 * @param failed called with the error of a job; once, while it goes on failing in the same way
 * @returns ends them: resolves when none is under way any more
 */
export function startSideJobs(
  jobs: Readonly<Record<string, () => Promise<void> | void>>,
  failed: (name: string, error: unknown) => void,
): () => Promise<void> {
  const over = new AbortController()
  const running = Object.entries(jobs).map(([name, work]) => {
    let said: string | undefined
    const attempt = async () => {
      await work()
      said = undefined
    }
    const fail = (error: unknown) => {
      if (messageOf(error) !== said) failed(name, error)
      said = messageOf(error)
    }
    return nowAndEvery(LOOK_MS, over.signal, fail, attempt)
  })
  return async () => {
    over.abort()
    await Promise.all(running)
  }
}

/** Makes a function that does the work it is given, one piece after the other. */
export function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
}
