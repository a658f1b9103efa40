import type { Mutant } from './mutant.ts'

/** Mechanisms of src/engine. */
export const ENGINE: readonly Mutant[] = [
  {
    name: 'an engine is deaf to notifications',
    file: 'src/engine/runner.ts',
    find: 'await this.#options.listen?.(onNews)',
    replacement: 'await this.#options.listen?.(() => {})',
    test: 'test/integration/engine-runner-ends.test.ts',
    only: 'is woken by a notification',
  },
  {
    name: 'an engine does not renew its leases',
    file: 'src/engine/keepers.ts',
    find: 'every((leaseSeconds * 1000) / 3, until, report, () => executor.renew()),',
    replacement: 'every(BEAT_MS, until, report, () => {}),',
    test: 'test/integration/engine-deadlines.test.ts',
    only: 'is renewed while the handler works',
  },
]
