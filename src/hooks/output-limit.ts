import { statSync, truncateSync } from 'node:fs'
import { messageOf } from '../base/errors.ts'

/**
 * The most that a hook may print; the largest legitimate output is a few megabytes of links. Downloads go to separate
 * files.
 */
const MAX_BYTES = 64 * 1024 * 1024
/** Within this time a flood fills a fast disk with about 200 MB, which are freed at once. */
const LOOK_MS = 100

/** Watches how much a hook prints. */
export interface OutputLimit {
  /** Stops watching. @returns why the hook was killed; undefined when it stayed within the limit */
  end(): Promise<string | undefined>
}

/** Calls `kill` when a hook prints too much into these files, and truncates them. */
export function limitOutput(files: readonly string[], kill: () => Promise<unknown>): OutputLimit {
  let killed: Promise<string> | undefined
  const look = () => {
    const flooded = files.filter((file) => sizeOf(file) > MAX_BYTES)
    if (flooded.length === 0) return
    clearInterval(timer)
    killed = endFlood(flooded)
  }
  const endFlood = async (flooded: readonly string[]) => {
    try {
      await kill()
      for (const file of flooded) truncateSync(file, MAX_BYTES)
      return `killed: it printed more than ${MAX_BYTES / 1024 / 1024} MiB`
    } catch (error) {
      return `it printed too much, and cannot be killed, or its output cannot be cut: ${messageOf(error)}`
    }
  }
  const timer = setInterval(look, LOOK_MS)
  return {
    async end() {
      look() // The hook may have ended between two checks.
      clearInterval(timer)
      return await killed
    },
  }
}

/** What cannot be looked at counts as empty: an error in a timer would end the worker, with all its pages. */
function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch {
    return 0
  }
}
