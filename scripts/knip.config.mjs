import { HOOKS, IN_PAGE, LIBRARY, MAIN, PAGE_SCRIPTS, SMALL, WHEN_NEEDED, WHOLE } from './entries.mjs'

// Entries that end in ! are the product; the others build and test it.
const entries = [...[WHOLE, MAIN, SMALL].flatMap(Object.values), ...WHEN_NEEDED.map(({ file }) => file)]
const product = [...entries, LIBRARY, HOOKS, ...IN_PAGE, ...Object.values(PAGE_SCRIPTS)].map((entry) => `${entry}!`)
/** Files that tests and benchmarks start as processes. */
const started = [
  'test/fixtures/**/*.ts',
  'test/bench/{bare-process.ts,captures-bare.mjs,engine-idle.mjs,site-process.ts}',
]

export default {
  entry: [
    ...product,
    'scripts/*.{mjs,ts}',
    'test/**/*.test.ts',
    'test/types/*.ts',
    'test/vitest.config.ts',
    'test/support/{bare-path,server,temp-dir}.ts',
    'test/{bench,hostile,install,nodes,soak}/main.ts',
    ...started,
  ],
  project: ['src/**/*.ts!', '{test,scripts}/**/*.{ts,mjs}'],
  ignoreExportsUsedInFile: true,
  exclude: ['binaries'],
}
