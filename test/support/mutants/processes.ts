import type { Mutant } from './mutant.ts'

/** Mechanisms of src/processes. */
export const PROCESSES: readonly Mutant[] = [
  {
    name: 'a process is its pid',
    file: 'src/processes/table.ts',
    find: '(await findProcess(seen.pid))?.startTicks === seen.startTicks',
    replacement: '(await findProcess(seen.pid)) !== null',
    test: 'test/crash/workers/machine-trouble.test.ts',
    only: 'to an innocent process',
  },
  {
    name: 'a clone of the machine is an earlier boot of it',
    file: 'src/processes/presence.ts',
    find: 'silence >= 0 && silence < uptime()',
    replacement: 'silence >= 0 && silence < 0 * uptime()',
    test: 'test/crash/workers/dead-rows.test.ts',
    only: 'of a clone of this machine',
  },
]
