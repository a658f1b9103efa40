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
    find: 'every((leaseSeconds * 1000) / 3, until, report, () => renew(executor, leaseSeconds)),',
    replacement: 'every(BEAT_MS, until, report, () => {}),',
    test: 'test/integration/engine-deadlines.test.ts',
    only: 'is renewed while the handler works',
  },
  {
    name: 'a worker does not renew its lease',
    file: 'src/engine/actor.ts',
    find: 'void keepClaims([{ executor: this.#executor, leaseSeconds: this.#leaseSeconds }], report, over.signal)',
    replacement: 'void keepClaims([], report, over.signal)',
    test: 'test/integration/lease-renewal.test.ts',
    only: 'have it renewed by their workers',
  },
  {
    name: 'a worker that stands still is left alone',
    file: 'src/engine/actor-pool.ts',
    find: "    this.#kill('does not renew its lease', await this.#standstill.late(this.#roster.there))\n",
    replacement: '',
    test: 'test/crash/kill.test.ts',
    only: 'is killed by its supervisor, and its work goes on',
  },
  {
    name: 'an actor that gets nowhere is left alone',
    file: 'src/engine/standstill.ts',
    find: 'performance.now() > busyUntil + OVERTIME_MS',
    replacement: 'busyUntil < 0',
    test: 'test/unit/engine-standstill.test.ts',
    only: 'gets nowhere',
  },
  {
    name: 'a row is given back while its handler still works on it',
    file: 'src/engine/executor.ts',
    find: '      if (!this.#options.waitForHandlers)\n        this.#end(tick, stepOf',
    replacement: '      this.#end(tick, stepOf',
    test: 'test/integration/engine-held.test.ts',
    only: 'is the same of a runner',
  },
  {
    name: 'a claim whose answer was lost holds its row for a lease',
    file: 'src/engine/queue.ts',
    find: '      if (isAgain)\n',
    replacement: '      if (!isAgain)\n',
    test: 'test/integration/engine-held.test.ts',
    only: 'whose answer was lost is made again',
  },
  {
    name: 'an idle worker that stands still counts as one that will work',
    file: 'src/engine/standstill.ts',
    find: 'now - askedAt > silentMs)',
    replacement: 'now - askedAt > silentMs * 1_000)',
    test: 'test/crash/standstill.test.ts',
    only: 'worker does not keep others',
  },
]
