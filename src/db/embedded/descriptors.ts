import { readdirSync, readFileSync } from 'node:fs'

/** As every Linux writes it in /proc/self/fdinfo. */
const O_CLOEXEC = 0o2000000

/**
 * The stdio entries from 3 up that put `harmless` in place of each descriptor that our own parents left open to us (a
 * cron job's `200>lock`): the server outlives them all, and would hold theirs for ever. Node itself closes only the low
 * ones.
 */
export function covers(harmless: number): (number | 'ignore')[] {
  const inherited = process.platform === 'linux' ? readdirSync('/proc/self/fd').map(Number).filter(isInherited) : []
  const entries = Array<number | 'ignore'>(Math.max(2, ...inherited) - 2).fill('ignore')
  for (const fd of inherited) if (fd > 2) entries[fd - 3] = harmless
  return entries
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))
    return flags !== null && (Number.parseInt(flags[1]!, 8) & O_CLOEXEC) === 0
  } catch {
    // The one that listed the directory: it is closed by now.
    return false
  }
}
