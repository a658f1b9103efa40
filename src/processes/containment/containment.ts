import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../base/config.ts'
import { UsageError } from '../../base/errors.ts'
import type { Tier } from '../../db/tables.ts'
import { type Family, killFamily } from '../family.ts'
import type { ProcessIdentity } from '../identity.ts'
import { MARKER } from '../marks.ts'
import type { AccountSwitch } from './account-switch.ts'
import { enterCgroup, findCgroup, removeCgroup } from './cgroup.ts'
import { hasDeathSignal, withDeathSignal } from './death-signal.ts'
import { howToUnshare, inNamespace } from './pid-namespace.ts'

/**
 * How a runner contains the processes of its hooks, and which account they run as. Plain data: workers get it in their
 * environment. `basic`: a session, a mark in the environment, and the death signal where there is one; a process that
 * changes all three escapes.
 */
export type Containment = Detected & {
  /** Undefined: as whoever runs the program. */
  readonly account?: AccountSwitch | undefined
}

type Detected =
  | { readonly tier: 'basic'; readonly deathSignal: boolean }
  | { readonly tier: 'pidns'; readonly unshare: readonly string[] }
  | { readonly tier: 'cgroup'; readonly path: string }

/**
 * Finds out what this machine offers: the tier that `CONTAINMENT` names, or with `auto` the control group (0.8 ms a
 * hook), else basic. A PID namespace (3 ms) only by name: hooks in it see other pids than those outside, and some of
 * ArchiveBox's plugins pass pids to each other. Throws UsageError when the machine does not offer what the setting asks
 * for.
 */
export async function detectContainment(tier: Config['CONTAINMENT'], runnerId: string): Promise<Containment> {
  if (tier === 'pidns') {
    const unshare = await howToUnshare()
    if (unshare) return { tier, unshare }
    throw notHere(tier, '`unshare --pid` does not work here')
  }
  if (tier !== 'basic') {
    const cgroup = await findCgroup(runnerId)
    if ('path' in cgroup) return { tier: 'cgroup', path: cgroup.path }
    if (tier === 'cgroup') throw notHere(tier, cgroup.missing)
  }
  return { tier: 'basic', deathSignal: await hasDeathSignal() }
}

/** When a lead ends: kills whatever is still in its containers, and removes them. */
export async function releaseContainment(containment: Containment): Promise<void> {
  if (containment.tier === 'cgroup') await killFamily({ cgroups: [containment.path] })
}

function notHere(tier: string, why: string): UsageError {
  return new UsageError(`CONTAINMENT=${tier} is not possible here: ${why}`, 'use CONTAINMENT=auto')
}

/** What one process is started in. */
export interface Container {
  readonly tier: Tier
  /** The command that starts it in there. */
  readonly argv: readonly string[]
  readonly cgroup: string | null
}

/**
 * The container for a process of a worker, by their rows; its control group is inside the worker's. Creates nothing
 * yet.
 */
export function containerFor(
  containment: Containment,
  { processId, workerId }: { readonly processId: string; readonly workerId: string },
  argv: readonly string[],
): Container {
  const { tier, account } = containment
  const become = account?.argv ?? []
  if (tier === 'pidns') return { tier, argv: inNamespace(containment.unshare, [...become, ...argv]), cgroup: null }
  // A process that switches to another account loses the death signal, so that comes last.
  if (tier === 'basic')
    return { tier, argv: [...become, ...(containment.deathSignal ? withDeathSignal(argv) : argv)], cgroup: null }
  const cgroup = join(containment.path, workerId, processId)
  return { tier, argv: enterCgroup(cgroup, [...become, ...argv]), cgroup }
}

/** Creates what the command needs; right before the spawn. */
export function openContainer({ cgroup }: Container): void {
  if (cgroup !== null) mkdirSync(cgroup, { recursive: true })
}

/**
 * Removes what was created for a process that has ended, or could not be started. A group that cannot be removed now is
 * removed with the runner's.
 */
export function closeContainer({ cgroup }: Container): void {
  if (cgroup !== null) removeCgroup(cgroup)
}

/** Everything that a process in this container may have started. */
export function familyIn({ cgroup }: Container, processId: string, identity: ProcessIdentity | null): Family {
  if (cgroup !== null) return { cgroups: [cgroup] }
  return { sessions: true, roots: identity ? [identity] : [], markers: [`${MARKER.process}=${processId}`] }
}
