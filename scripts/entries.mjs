// The entries of the program: build.mjs bundles them, and reach.mjs starts from them to find unused code.

/**
 * Each is one file: the program, the parts of it that `add`, `run` and workers need, since there are many of them or
 * users wait for them, and the hooks' host. So the package contains each library five times. Shared chunks would make
 * it 2.6 MB instead of 4.1, and 9 instead of 15 when unpacked; but each process would then read and compile some 20 to
 * 110 files with byte code, and a start of `add` would take 5 to 12 % more CPU, one of `server` 35 to 41 % (28 November
 * 2026, 25 starts in turn). With fewer and larger chunks each process runs modules that it does not need: `add` takes
 * 15 to 35 % more.
 */
export const WHOLE = {
  program: 'src/cli/program.ts',
  add: 'src/cli/add-program.ts',
  run: 'src/cli/run-program.ts',
  server: 'src/cli/server-program.ts',
  worker: 'src/workers/entry.ts',
  host: 'src/hooks/host.ts',
}
/** The files that load them. */
export const MAIN = { main: 'src/main.ts', 'hook-host': 'src/hooks/host-process.ts' }
/** Files that must start fast, by their names in dist. */
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
/** The module through which the host finds them, in its bundle. */
export const BUILT_IN = 'src/hooks/built-in.ts'
/** Replacements for modules in the bundles, by importer: others need more of crypto at once. */
export const WHEN_NEEDED = [
  { id: 'crypto', importer: /node_modules\/pg\//, file: 'src/base/start/crypto-when-needed.ts' },
  { id: 'tls', importer: /node_modules/, file: 'src/base/start/tls-when-needed.ts' },
  { id: './stream', importer: /node_modules\/pg\/lib\//, file: 'src/base/pg-stream.ts' },
]
/** The functions that run in visited pages, each in its own file in the folder. */
export const IN_PAGE = [
  ...['before-scripts', 'fill-storage', 'settle', 'hide-overlays', 'unroll', 'unpin', 'finish'],
  ...['serialize', 'frame-html', 'empty-fields', 'has-password-field'],
].map((name) => `src/browse/script/${name}.ts`)
/** The scripts of the pages on disk, of a server's pages with their shared worker, and of replay. */
export const PAGE_SCRIPTS = {
  pages: 'src/pages/script/main.ts',
  served: 'src/pages/script/served.ts',
  stream: 'src/pages/script/stream-worker.ts',
  replay: 'src/pages/script/replay.ts',
  'replay-worker': 'src/pages/script/replay-worker.ts',
}
