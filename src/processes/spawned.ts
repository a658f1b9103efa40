import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { codeOf } from '../base/errors.ts'

/**
 * The machine cannot start a process at the moment: too many of them, no memory, no descriptors, no disk space for
 * logs. The program is not to blame.
 */
const PASSING = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ENOSPC'])

/**
 * A child that is really running. Throws what kept it from being started, which Node sometimes throws and sometimes
 * emits.
 */
export async function spawned(start: () => ChildProcess): Promise<ChildProcess & { readonly pid: number }> {
  const child = start()
  if (child.pid === undefined) throw (await once(child, 'error'))[0]
  child.on('error', () => {}) // A signal or a message that came too late for it.
  return child as ChildProcess & { readonly pid: number }
}

/** Whether starting the same program will work when the machine has recovered. */
export function isTransient(error: unknown): boolean {
  return PASSING.has(codeOf(error) ?? '')
}
