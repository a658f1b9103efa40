import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './support/longest-first.ts'

// What starts real servers and runners waits for them half of the time: one file more at a time than there are cores.
// Two for each core took a tenth less time, and browsers waited for each other. A file is up to eight processes at
// work. The tests of a file that mostly wait (for a lease, for a lead in doubt) run side by side as well:
// `describe.concurrent`, with what is theirs in `perTest`.
const AT_ONCE = availableParallelism() + 1

// Every kind of test is a project of its own. What they share is set up by whichever is first. Unit tests share
// processes, too: to start one for each file and to load the sources there took as much CPU as the tests.
const alone = ['test/support/temp-dir.ts', 'test/support/bare-path.ts']
const kind = (name: string, options: object) => ({ test: { name, include: [`test/${name}/**/*.test.ts`], ...options } })
const together = [...alone, 'test/support/server.ts']
const real = { globalSetup: together, hookTimeout: 300_000, maxWorkers: AT_ONCE, sequence: { groupOrder: 1 } }

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      kind('unit', {
        globalSetup: alone,
        isolate: false,
        maxWorkers: availableParallelism(),
        testTimeout: 20_000,
        sequence: { groupOrder: 0 },
      }),
      kind('integration', { testTimeout: 300_000, maxConcurrency: 3, ...real }),
      kind('crash', { testTimeout: 300_000, maxConcurrency: 4, ...real }),
    ],
  },
})
