import type { ProcessIdentity } from '../db/process-identity.ts'
import { bootId, pidNamespace } from './proc.ts'
import { findProcess, isSame } from './table.ts'

export type { ProcessIdentity } from '../db/process-identity.ts'

/** `unknown` is a process that we cannot see from here (another PID namespace): never taken for dead. */
export type Liveness = 'alive' | 'gone' | 'unknown'

/** The identity of a live process; null when there is none, or only a zombie. */
export async function identityOf(pid: number): Promise<ProcessIdentity | null> {
  const entry = await findProcess(pid)
  return entry ? { bootId: bootId(), pidNamespace: pidNamespace(), pid, startTicks: entry.startTicks } : null
}

let own: ProcessIdentity | null = null
/** Our own identity. Looked up once: later there may be no file descriptor left to do it. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  own ??= await identityOf(process.pid)
  if (!own) throw new Error(`cannot read the identity of our own process ${process.pid}`)
  return own
}

/** Is exactly this process still there? A zombie is gone; another boot is gone; another namespace is unknown. */
export async function livenessOf(identity: ProcessIdentity): Promise<Liveness> {
  if (identity.bootId !== bootId()) return 'gone'
  if (identity.pidNamespace !== pidNamespace()) return 'unknown'
  return (await isSame(identity)) ? 'alive' : 'gone'
}

/**
 * Signals exactly this process, or nothing. Between the check and the signal lie microseconds, in which a pid cannot be
 * reused. SIGCONT follows SIGTERM: a stopped process receives no other.
 * @returns false when it is gone or may not be signalled
 */
export async function signalIdentity(identity: ProcessIdentity, signal: NodeJS.Signals): Promise<boolean> {
  if (identity.pid <= 1 || identity.pid === process.pid || (await livenessOf(identity)) !== 'alive') return false
  try {
    process.kill(identity.pid, signal)
  } catch {
    return false
  }
  if (signal === 'SIGTERM') await signalIdentity(identity, 'SIGCONT')
  return true
}
