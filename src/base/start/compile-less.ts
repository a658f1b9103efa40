/**
 * TurboFan costs us more than it gains: its code for a page's tree holds only until the next page. Maglev, the compiler
 * before it, keeps up to 20 MB of compiled code, much of it rarely called. Without them a host needs 5 to 15 % less
 * CPU, about 14 MB less, and a third less time for a single large page.
 */
const LESS = ['--no-turbofan', '--invocation-count-for-maglev=2000']

/** The first V8 with Maglev, that of Node 24: without either compiler, code would stay slow. */
const FIRST_V8 = 13

/** Runners and servers live for months and keep little of what they allocate: a young generation grows to 67 MB. */
const STAY_YOUNG = '--semi-space-growth-factor=1'

/** When a process has loaded most of what it needs. */
const LOADED_MS = 300

/**
 * Makes V8 compile less in a long-lived process. Not from its start, but when it has loaded what it needs: byte code
 * that was kept under other flags is rejected, also that of Node's own modules, and a start would take a third longer.
 * Not later either: a host is 8 MB smaller when this comes before its first page, since V8 gives back little of what it
 * takes to compile.
 * @param use the purpose of the process: the young generation of a runner and of a server also stays as it is
 */
export function compileLess(use?: string): void {
  const v8 = process.getBuiltinModule('node:v8') // Loaded late: most processes have ended by then.
  const less = Number.parseInt(process.versions.v8, 10) < FIRST_V8 ? [] : LESS
  for (const flag of use === 'run' || use === 'server' ? [...less, STAY_YOUNG] : less) v8.setFlagsFromString(flag)
}

/** The same for a process that has just been started. */
export function compileLessSoon(use?: string): void {
  setTimeout(compileLess, LOADED_MS, use).unref()
}
