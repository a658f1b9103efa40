import { closeSync, existsSync, openSync, readSync } from 'node:fs'

/** Longer than any shebang that a system takes. */
const LONGEST_BYTES = 256

/** The first line of a hook, without its line feed, if it names an interpreter; else ''. */
function shebangOf(path: string): string {
  try {
    const fd = openSync(path, 'r')
    try {
      const head = Buffer.alloc(LONGEST_BYTES)
      const [line = ''] = head.toString('latin1', 0, readSync(fd, head, 0, head.length, 0)).split('\n', 1)
      return line.startsWith('#!') ? line : ''
    } finally {
      closeSync(fd)
    }
  } catch {
    return ''
  }
}

/**
 * Whether this hook is written for ArchiveBox's own runner. Those of its suite start through `abxpkg`, and each
 * promises to print an ArchiveResult.
 */
export function speaksUpstream(path: string): boolean {
  return /\babxpkg run\b/.test(shebangOf(path))
}

/** What is wrong with the interpreter of a hook that was not found; undefined when its first line does not tell. */
export function interpreterTrouble(path: string): string | undefined {
  const shebang = shebangOf(path)
  // The carriage return counts as part of the name.
  if (shebang.endsWith('\r')) return 'its lines end as on Windows (CRLF)'
  const [interpreter = ''] = shebang.slice(2).trim().split(/\s/)
  return interpreter === '' || existsSync(interpreter) ? undefined : `its interpreter ${interpreter} is not there`
}
