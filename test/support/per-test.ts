import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, aroundEach } from 'vitest'

/**
 * Separate values for each test of a file, even for tests that run at the same time: a variable that `beforeEach` sets
 * would be shared by all of them.
 * @param make called before each test
 * @param end called after each test, whatever its outcome
 * @returns gets the value of the running test
 */
export function perTest<T>(
  make: () => T | Promise<T>,
  end: (own: T, failed: boolean) => void | Promise<void>,
): () => T {
  const running = new AsyncLocalStorage<{ readonly own: T }>()
  const ofTest = () => {
    const found = running.getStore()
    if (!found) throw new Error('no test runs here')
    return found.own
  }
  aroundEach(async (runTest) => await running.run({ own: await make() }, runTest))
  afterEach(async ({ task }) => await end(ofTest(), task.result?.state === 'fail'))
  return ofTest
}
