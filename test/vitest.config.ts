import { defineConfig } from 'vitest/config'

// Every kind of test is a project of its own. Those that start real servers and runners mostly wait for them: a few files at a time, no more,
// for the sake of small machines.
const kind = (name: string, options: object = {}) => ({ test: { name, include: [`test/${name}/**/*.test.ts`], ...options } })

const SERVER = { globalSetup: 'test/support/server.ts' }

export default defineConfig({
  test: {
    projects: [
      kind('unit', { testTimeout: 20_000 }),
      kind('integration', { ...SERVER, testTimeout: 120_000, hookTimeout: 120_000, maxWorkers: 3 }),
      kind('crash', { ...SERVER, testTimeout: 180_000, hookTimeout: 120_000, maxWorkers: 3, maxConcurrency: 4 }),
    ],
  },
})
