import { readFileSync } from 'node:fs'

const LOOK_MS = 2_000
const PAGE_BYTES = 4096

/**
 * Kills every process of a browser that takes more memory than `limit` (bytes resident, its shared parts included): a
 * page that wants more crashes its own tab, and not the machine. Where there is no /proc, nobody looks.
 * @param said what was killed, in one line
 * @returns ends it
 */
export function guardMemory(browser: number, limit: number, said: (line: string) => void): () => void {
  const look = () => {
    for (const pid of family(browser)) {
      const bytes = residentBytes(pid)
      if (bytes <= limit) continue
      said(`A process of the browser took ${Math.round(bytes / 1024 / 1024)} MB and was ended (CHROME_MAX_MEMORY).`)
      end(pid)
    }
  }
  const timer = setInterval(look, LOOK_MS)
  return () => clearInterval(timer)
}

/** A process and all below it. */
function family(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return [pid, ...children.flatMap(family)]
}

function residentBytes(pid: number): number {
  return Number(read(`/proc/${pid}/statm`).split(' ')[1] ?? 0) * PAGE_BYTES
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return '' // It is gone.
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone.
  }
}
