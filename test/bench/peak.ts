import { readFileSync } from 'node:fs'

/**
 * The most memory that a process has had, in MB, as the kernel keeps it: read often, since it goes with the process.
 */
export function watchPeak(pid: number): { end(): number } {
  let peak = 0
  const look = () => {
    try {
      peak = Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? peak * 1024) / 1024
    } catch {
      // It is gone.
    }
  }
  const timer = setInterval(look, 20)
  return {
    end: () => {
      clearInterval(timer)
      return peak
    },
  }
}
