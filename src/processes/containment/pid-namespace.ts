import { withDeathSignal } from './death-signal.ts'
import { runs } from './runs.ts'

const UNSHARE = ['unshare', '--pid', '--fork', '--kill-child=KILL', '--mount-proc']
/** A user who may not create PID namespaces may do so inside a user namespace; the user id stays the same there. */
const AS_USER = ['--user', '--map-current-user']

/**
 * The first process of a namespace: signals reach it only where it has asked for them, and when it ends the kernel
 * kills all others. It keeps waiting for the hook when both get SIGTERM, and ends as the hook did (by a signal: 128 and
 * its number).
 */
const INIT = 'trap : TERM; "$@" & wait $!; code=$?; while kill -0 $! 2>/dev/null; do wait $!; code=$?; done; exit $code'

/**
 * How to create a PID namespace here: directly as root, through a user namespace otherwise; null when the machine does
 * not allow it.
 */
export async function howToUnshare(): Promise<readonly string[] | null> {
  for (const unshare of [UNSHARE, [...UNSHARE, ...AS_USER]]) {
    if (await runs(inNamespace(unshare, ['true']))) return unshare
  }
  return null
}

/**
 * The command that runs `argv` in a new PID namespace: killing the process that it starts kills everything in there,
 * however it tries to hide.
 */
export function inNamespace(unshare: readonly string[], argv: readonly string[]): string[] {
  return withDeathSignal([...unshare, '/bin/sh', '-c', INIT, 'init', ...argv])
}
