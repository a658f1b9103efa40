import { readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { textIn } from '../base/if-readable.ts'
import { isDead, type ProcEntry, readEnviron, readProc } from './proc.ts'

/** The seed looks every 2 s and is to be gone after about 4. */
const LOOK_MS = 1_000
/** SIGHUP, in the masks of /proc/<pid>/status. */
const HUP = 1n

/**
 * The processes that started this one and that it should end with, the nearest first: a script, npm, the shell that
 * waits. They are its ancestors in its own process group. A shell with job control gives each job its own group, and so
 * do `setsid`, supervisors and containers: their end means nothing.
 */
export function wrappers(): ProcEntry[] {
  const self = readProc(process.pid)
  if (!self) return []
  const found: ProcEntry[] = []
  for (let entry = readProc(self.ppid); entry && entry.pid > 1 && entry.pgid === self.pgid; ) {
    found.push(entry)
    entry = readProc(entry.ppid)
  }
  return found
}

/** Calls back once when one of these is gone, with its name. @returns ends the watch */
export function watchWrappers(all: readonly ProcEntry[], onGone: (name: string) => void): () => void {
  const watched = all.map((entry) => ({ entry, name: nameOf(entry.pid) }))
  const timer = setInterval(() => {
    const gone = watched.find(({ entry }) => {
      const now = readProc(entry.pid)
      return !now || now.startTicks !== entry.startTicks || isDead(now)
    })
    if (!gone) return
    clearInterval(timer)
    onGone(`${gone.name} (pid ${gone.entry.pid})`)
  }, LOOK_MS).unref()
  const end = () => clearInterval(timer)
  if (watched.length === 0) end()
  return end
}

/**
 * Whether `nohup` started us, or what started us. Node undoes an ignored SIGHUP, so that our own mask does not tell.
 * Three signs are left: the mask of a shell above us, the name that bash and zsh leave in `_`, and the stdin that nohup
 * replaces on a terminal: /dev/null, open for writing. In a script of `sh` nothing tells.
 */
export function isPutAside(above: readonly ProcEntry[] = wrappers()): boolean {
  const named = [process.pid, ...above.map(({ pid }) => pid)].map((pid) =>
    readEnviron(pid).find((text) => text.startsWith('_=')),
  )
  if (named.some((text) => text !== undefined && basename(text.slice(2)) === 'nohup')) return true
  return isStdinOfNohup() || above.some(({ pid }) => ignoresHangups(pid))
}

function ignoresHangups(pid: number): boolean {
  const mask = /^SigIgn:\s*([0-9a-f]+)/m.exec(textIn(`/proc/${pid}/status`))?.[1]
  return mask !== undefined && (BigInt(`0x${mask}`) & HUP) !== 0n
}

function isStdinOfNohup(): boolean {
  try {
    if (readlinkSync('/proc/self/fd/0') !== '/dev/null') return false
  } catch {
    return false
  }
  const flags = /^flags:\s*([0-7]+)/m.exec(textIn('/proc/self/fdinfo/0'))?.[1]
  return flags !== undefined && (Number.parseInt(flags, 8) & 3) === 1
}

const nameOf = (pid: number) => textIn(`/proc/${pid}/comm`).trim() || 'a process'
