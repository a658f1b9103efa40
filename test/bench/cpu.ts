import { readdirSync, readFileSync } from 'node:fs'

const TICK_MS = 10 // USER_HZ is 100 on every Linux that Node runs on.

interface Usage {
  readonly pid: number
  readonly ppid: number
  readonly ownMs: number
  /** Of children that it has waited for, and of theirs. */
  readonly reapedMs: number
}

function usageOf(pid: number | 'self'): Usage | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const at = (field: number) => Number(fields[field - 3])
    return {
      pid: Number.parseInt(stat, 10),
      ppid: at(4),
      ownMs: (at(14) + at(15)) * TICK_MS,
      reapedMs: (at(16) + at(17)) * TICK_MS,
    }
  } catch {
    return undefined
  }
}

/**
 * CPU (user and system) of all our children so far that have ended, with all of theirs: complete for a tree that waits
 * for its children.
 */
export function endedChildrenMs(): number {
  return usageOf('self')!.reapedMs
}

/**
 * CPU of the database server of a data dir so far: its postmaster, the backends that have ended, and those that live.
 */
export function postgresMs(dataDir: string): number {
  const postmaster = postmasterOf(dataDir)
  const { ownMs, reapedMs } = usageOf(postmaster)!
  const live = everybody().filter(({ ppid }) => ppid === postmaster)
  return ownMs + reapedMs + live.reduce((sum, child) => sum + child.ownMs, 0)
}

/** CPU so far of the processes below one, by what they are: `runner`, `snapshot workers`, a verb of the program. */
export function cpuBelow(root: number): Readonly<Record<string, number>> {
  const all = everybody()
  const inside = new Set([root])
  for (let size = 0; size < inside.size; ) {
    size = inside.size
    for (const { pid, ppid } of all) if (inside.has(ppid)) inside.add(pid)
  }
  const sums: Record<string, number> = {}
  for (const { pid, ownMs } of all) if (inside.has(pid)) sums[roleOf(pid)] = (sums[roleOf(pid)] ?? 0) + ownMs
  return sums
}

function postmasterOf(dataDir: string): number {
  return Number.parseInt(readFileSync(`${dataDir}/postgres/postmaster.pid`, 'utf8'), 10)
}

/** Time in which the machine's cores had nothing to do so far, added up over the cores; waiting for a disk counts. */
export function idleMs(): number {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.split(/\s+/).map(Number)
  return (fields[4]! + fields[5]!) * TICK_MS
}

/** What the processes of one role used. */
export interface RoleUsage {
  readonly role: string
  readonly count: number
  /** CPU. */
  readonly ms: number
  /** At the moment when all roles together had the most. */
  readonly pssMb: number
}

const POSTGRES = 'postgres'
/** The kernel walks all pages of a process for its memory: at every look, that takes a tenth of two cores. */
const LOOKS_A_MEMORY = 4

/**
 * Watches which part of a tree, and of a database server, uses CPU and memory, by looking now and then: what a process
 * used after the last look is missing.
 */
export class TreeWatch {
  readonly #roots: readonly number[]
  readonly #seen = new Map<number, { role: string; ownMs: number }>()
  readonly #timer: NodeJS.Timeout
  #looks = 0
  #peak = new Map<string, number>()

  /** @param dataDir whose database server counts, too */
  constructor(root: number, dataDir?: string, everyMs = 250) {
    this.#roots = [root, ...(dataDir === undefined ? [] : [postmasterOf(dataDir)])]
    this.#timer = setInterval(() => this.#look(), everyMs)
  }

  end(): RoleUsage[] {
    clearInterval(this.#timer)
    const groups = Object.entries(Object.groupBy(this.#seen.values(), ({ role }) => role))
    return groups.map(([role, seen = []]) => ({
      role,
      count: seen.length,
      ms: seen.reduce((sum, { ownMs }) => sum + ownMs, 0),
      pssMb: this.#peak.get(role) ?? 0,
    }))
  }

  #look(): void {
    const all = everybody()
    const inside = new Set(this.#roots)
    for (let size = 0; size < inside.size; ) {
      size = inside.size
      for (const { pid, ppid } of all) if (inside.has(ppid)) inside.add(pid)
    }
    const seesMemory = this.#looks++ % LOOKS_A_MEMORY === 0
    const memory = new Map<string, number>()
    for (const { pid, ownMs } of all) {
      if (!inside.has(pid)) continue
      const role = this.#seen.get(pid)?.role ?? roleOf(pid)
      this.#seen.set(pid, { role, ownMs })
      if (seesMemory) memory.set(role, (memory.get(role) ?? 0) + pssMb(pid))
    }
    if (sum(memory) > sum(this.#peak)) this.#peak = memory
  }
}

const sum = (values: ReadonlyMap<string, number>) => [...values.values()].reduce((all, value) => all + value, 0)

/** Its memory, what it shares counted by parts; 0 when it is gone. */
function pssMb(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

function everybody(): Usage[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => usageOf(Number(name)) ?? [])
}

function roleOf(pid: number): string {
  try {
    const line = readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
    if (line === POSTGRES) return POSTGRES
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    if (words.includes('worker')) return `${words[words.indexOf('worker') + 1]} workers`
    if (words.some((word) => word.endsWith('hook-host.js'))) return 'hook hosts'
    if (words.some((word) => word.includes('chrome_launch'))) return 'browser launcher'
    if (/chrom/.test(words[0] ?? '')) return 'browser'
    if (words.includes('run')) return 'runner'
    return words.some((word) => word.endsWith('main.js')) ? 'command' : 'other'
  } catch {
    return 'other'
  }
}
