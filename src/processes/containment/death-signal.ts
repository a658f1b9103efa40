import { runs } from './runs.ts'

// The kernel kills a process with this when the thread that started it ends: so only the main thread may start
// processes. It is lost on a fork and on the exec of a setuid program, so it reaches the process itself, never what
// that starts.
const WITH_DEATH_SIGNAL = ['setpriv', '--pdeathsig', 'KILL']

/** Whether processes can be tied to the life of their parent: `setpriv` of util-linux can do it; others cannot. */
export async function hasDeathSignal(): Promise<boolean> {
  return await runs(withDeathSignal(['true']))
}

export function withDeathSignal(argv: readonly string[]): string[] {
  return [...WITH_DEATH_SIGNAL, ...argv]
}
