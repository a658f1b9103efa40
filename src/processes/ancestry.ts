import { hostname } from 'node:os'
import { textIn } from '../base/if-readable.ts'
import { hasProc, readProc } from './proc.ts'

let known: readonly string[] | undefined

/**
 * What this process was started under, the nearest first: its ancestors up to init (`pid:start`), then its control
 * group, then its host. A supervisor that restarts its program is there before and after: both runs share it.
 */
export function startedUnder(): readonly string[] {
  known ??= [...ancestors(), `cgroup:${controlGroup()}`, `host:${hostname()}`]
  return known
}

/** How near to the first process the nearest shared ancestor is: 0 is its parent; Infinity: there is none. */
export function kinship(mine: readonly string[], others: readonly string[]): number {
  const nearest = mine.findIndex((name) => others.includes(name))
  return nearest === -1 ? Number.POSITIVE_INFINITY : nearest
}

function* ancestors(): Generator<string> {
  for (let entry = ancestor(process.ppid); entry; entry = ancestor(entry.ppid)) yield `${entry.pid}:${entry.startTicks}`
}

function ancestor(pid: number) {
  return hasProc && pid > 1 ? readProc(pid) : null
}

function controlGroup(): string {
  // The commands of a systemd unit beside its main one are in a group below it.
  return textIn('/proc/self/cgroup')
    .trim()
    .replaceAll(/\/\.control$/gm, '')
}
