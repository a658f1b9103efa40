import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './support/longest-first.ts'

// What starts real servers and runners waits for them half of the time: more files at a time than cores. Not many more:
// a file is up to eight processes at work, and their promises about time hold on a machine that is not drowned.
const AT_ONCE = availableParallelism() + 4

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
      kind('unit', { globalSetup: alone, isolate: false, testTimeout: 20_000, sequence: { groupOrder: 0 } }),
      kind('integration', { testTimeout: 300_000, ...real }),
      kind('crash', { testTimeout: 300_000, maxConcurrency: 4, ...real }),
    ],
  },
})
