import { textIn } from '../../base/if-readable.ts'
import { memoryPageBytes } from '../../base/memory-page.ts'
import { lacksSharedMemory } from './shared-memory.ts'
import type { RunningBrowser } from './start-browser.ts'

const LOOK_MS = 2_000
/** A process that looks stopped once may be about to continue. */
const LOOKS_STOPPED = 2
/** Checks are counted, not seconds: when this process was frozen as well, it has seen nothing. */
const LOOKS_WITHOUT_ANSWER = 7

/**
 * Guards the machine against a browser.
 * - Kills each of its processes that uses more memory than `limit` (resident bytes, shared parts included): a page that
 *   wants more crashes its own tab, and not the machine.
 * - Kills all of it when one of its processes is frozen, or it has not answered for a quarter of a minute: it would
 *   block every page.
 * - Kills all of it when /dev/shm has become full, where one tab after another would crash: the next browser starts
 *   without it.
 *
 * Without /proc, frozen processes and memory go unnoticed.
 * @param said is called with a line about what was killed
 * @returns ends it
 */
export function guardBrowser(browser: RunningBrowser, limit: number, said: (line: string) => void): () => void {
  const pid = browser.process.pid!
  let stopped = 0
  let unanswered = 0
  let isAsked = false
  const ask = async () => {
    isAsked = true
    await browser.relay.answer()
    isAsked = false
  }
  const look = () => {
    const all = familyOf(pid)
    for (const each of all) {
      const bytes = residentBytes(each)
      if (bytes <= limit) continue
      const used = `used ${inMb(bytes)}, more than ${inMb(limit)} (CHROME_MAX_MEMORY)`
      said(`A browser process ${used}, and was killed.`)
      if (each === pid) browser.relay.close(`it ${used}`)
      else browser.relay.explain(`it ${used}`)
      end(each)
    }
    if (browser.sharesMemory && lacksSharedMemory()) {
      const full = '/dev/shm was almost full'
      said(`The browser was killed: ${full}. The next one will not use it.`)
      browser.relay.close(full)
      for (const each of all) end(each)
    }
    stopped = all.some(isStopped) ? stopped + 1 : 0
    unanswered = isAsked ? unanswered + 1 : 0
    if (!isAsked) void ask()
    const isStuck = unanswered >= LOOKS_WITHOUT_ANSWER
    if (stopped < LOOKS_STOPPED && !isStuck) return
    said(`The browser ${isStuck ? 'did not answer' : 'was frozen'} and was killed.`)
    for (const each of all) end(each)
  }
  const timer = setInterval(look, LOOK_MS)
  return () => clearInterval(timer)
}

/** Kills a browser and all of its processes, including frozen ones. */
export function endBrowser({ process: { pid } }: Pick<RunningBrowser, 'process'>): void {
  for (const each of familyOf(pid!)) end(each)
}

/** Always in MB, since the two figures may be close together. */
const inMb = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MB`

/** A process and all of its descendants. */
function familyOf(pid: number): number[] {
  const children = textIn(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return [pid, ...children.flatMap(familyOf)]
}

function residentBytes(pid: number): number {
  return Number(textIn(`/proc/${pid}/statm`).split(' ')[1] ?? 0) * memoryPageBytes()
}

/** The state follows the name, which may contain anything. */
const isStopped = (pid: number) => /^[Tt] /.test(textIn(`/proc/${pid}/stat`).split(') ').at(-1) ?? '')

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process is gone.
  }
}
