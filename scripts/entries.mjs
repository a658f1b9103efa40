// Where the program begins: what build.mjs bundles, and from where reach.mjs looks for what nothing uses.

/**
 * Each as one file: the program, what `add`, `run` and workers need of it, since they are many or waited for, and the
 * hooks' host. So each library is in the package five times. Chunks that they share would make it 2.6 MB instead of
 * 4.1, and 9 instead of 15 when unpacked; but what a process reads and compiles is then some 20 to 110 files with byte
 * code each, and a start of `add` takes 5 to 12 % more CPU, one of `server` 35 to 41 % (28 November 2026, 25 starts in
 * turn). With fewer and larger chunks each process runs modules that it does not need: `add` 15 to 35 % more.
 */
export const WHOLE = {
  program: 'src/cli/program.ts',
  add: 'src/cli/add-program.ts',
  run: 'src/cli/run-program.ts',
  server: 'src/cli/server-program.ts',
  worker: 'src/workers/entry.ts',
  host: 'src/hooks/host.ts',
}
/** What loads them. */
export const MAIN = { main: 'src/main.ts', 'hook-host': 'src/hooks/host-process.ts' }
/** What must start fast, by its name in dist. */
export const SMALL = {
  complete: 'src/complete.ts',
  guardian: 'src/runner/guardian-process.ts',
  'check-thread': 'src/app/verify/check-thread.ts',
  'index-process': 'src/importers/archivebox/index-process.ts',
}
/** The library `archivebox-ts/engine`. */
export const LIBRARY = 'src/engine/index.ts'
/** The built-in plugins' hooks. */
export const HOOKS = 'src/plugins/*/on_*.ts'
/** Where the host finds them, in its bundle. */
export const BUILT_IN = 'src/hooks/built-in.ts'
/** What stands in for modules in the bundles, by who imports them: others need more of crypto at once. */
export const WHEN_NEEDED = [
  { id: 'crypto', importer: /node_modules\/pg\//, file: 'src/base/start/crypto-when-needed.ts' },
  { id: 'tls', importer: /node_modules/, file: 'src/base/start/tls-when-needed.ts' },
  { id: './stream', importer: /node_modules\/pg\/lib\//, file: 'src/base/pg-stream.ts' },
]
/** What runs in a page that is visited: each is a function, in the folder. */
export const IN_PAGE = [
  ...['before-scripts', 'fill-storage', 'settle', 'hide-overlays', 'unroll', 'unpin', 'finish'],
  ...['serialize', 'frame-html', 'empty-fields', 'has-password-field'],
].map((name) => `src/browse/script/${name}.ts`)
/** The scripts of the pages on disk, of the pages of a server and the worker that these share, and those of replay. */
export const PAGE_SCRIPTS = {
  pages: 'src/pages/script/main.ts',
  served: 'src/pages/script/served.ts',
  stream: 'src/pages/script/stream-worker.ts',
  replay: 'src/pages/script/replay.ts',
  'replay-worker': 'src/pages/script/replay-worker.ts',
}
