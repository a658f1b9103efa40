import type { Mutant } from './mutant.ts'

/** Mechanisms of src/workers. */
export const WORKERS: readonly Mutant[] = [
  {
    name: 'a lease is renewed in words only',
    file: 'src/workers/lease.ts',
    find: 'await queue.renew([claim])',
    replacement: 'new Set([claim.id])',
    test: 'test/integration/crawl-commands.test.ts',
    only: 'pause',
  },
  {
    name: 'a worker does not renew its lease',
    file: 'src/workers/lease.ts',
    find: 'const timer = setInterval(() => void renew(), RENEW_MS)',
    replacement: 'const timer = setInterval(() => {}, RENEW_MS)',
    test: 'test/integration/lease-renewal.test.ts',
    only: 'have it renewed by their workers',
  },
  {
    name: 'the dead hold what they claimed',
    file: 'src/workers/reap.ts',
    find: 'const requeued = await requeueClaimsOf(tx, ids)',
    replacement: 'const requeued = 0',
    test: 'test/crash/kill.test.ts',
    only: 'of one process after another',
  },
  {
    name: 'a worker that stands still is left alone',
    file: 'src/workers/worker-pool.ts',
    find: '    this.#kill(stuck)\n',
    replacement: '',
    test: 'test/crash/kill.test.ts',
    only: 'is killed by its supervisor, and its work goes on',
  },
  {
    name: 'an idle worker that stands still counts as one that will work',
    file: 'src/workers/worker-pool.ts',
    find: 'now - askedAt > patienceMs)',
    replacement: 'now - askedAt > patienceMs * 1_000)',
    test: 'test/crash/standstill.test.ts',
    only: 'worker does not keep others',
  },
]
