import { withDeathSignal } from './death-signal.ts'
import { runs } from './runs.ts'

const UNSHARE = ['unshare', '--pid', '--fork', '--kill-child=KILL', '--mount-proc']
/** A user who may not make PID namespaces may do so inside a user namespace; the user id stays the same there. */
const AS_USER = ['--user', '--map-current-user']

/**
 * The first process of a namespace: signals reach it only where it has asked for them, and when it ends the kernel
 * kills all others. It waits for the hook through the SIGTERM that both get, and ends as the hook did (by a signal: 128
 * and its number).
 */
const INIT = 'trap : TERM; "$@" & wait $!; code=$?; while kill -0 $! 2>/dev/null; do wait $!; code=$?; done; exit $code'

/**
 * How to make a PID namespace here: outright as root, through a user namespace otherwise; null when the machine does
 * not let us.
 */
export async function howToUnshare(): Promise<readonly string[] | null> {
  for (const unshare of [UNSHARE, [...UNSHARE, ...AS_USER]]) {
    if (await runs(inNamespace(unshare, ['true']))) return unshare
  }
  return null
}

/**
 * The command that runs `argv` in a PID namespace of its own: killing the process that it makes kills all in there,
 * whatever they did to hide.
 */
export function inNamespace(unshare: readonly string[], argv: readonly string[]): string[] {
  return withDeathSignal([...unshare, '/bin/sh', '-c', INIT, 'init', ...argv])
}
