import type { Mutant } from './mutant.ts'

/** Mechanisms of src/workers. */
export const WORKERS: readonly Mutant[] = [
  {
    name: 'the dead hold what they claimed',
    file: 'src/workers/reap.ts',
    find: 'const requeued = await requeueClaimsOf(tx, ids)',
    replacement: 'const requeued = 0',
    test: 'test/crash/kill.test.ts',
    only: 'of one process after another',
  },
]
