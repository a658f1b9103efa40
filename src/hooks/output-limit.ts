import { statSync, truncateSync } from 'node:fs'
import { messageOf } from '../base/errors.ts'

/**
 * As much may a hook print; the largest honest ones print a few megabytes of links. What it downloads goes to files of
 * its own.
 */
const MAX_BYTES = 64 * 1024 * 1024
/** A flood fills a fast disk with some 200 MB in this time, which are given back at once. */
const LOOK_MS = 100

/** Watches what a hook prints. */
export interface OutputLimit {
  /** Stops watching. Why the hook was killed; undefined when it stayed within its limit. */
  end(): Promise<string | undefined>
}

/** Has `kill` end a hook that prints too much into these files, and cuts them. */
export function limitOutput(files: readonly string[], kill: () => Promise<unknown>): OutputLimit {
  let killed: Promise<string> | undefined
  const look = () => {
    const flooded = files.filter((file) => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_BYTES)
    if (flooded.length === 0) return
    clearInterval(timer)
    killed = kill().then(
      () => {
        for (const file of flooded) truncateSync(file, MAX_BYTES)
        return `killed: it printed more than ${MAX_BYTES / 1024 / 1024} MiB`
      },
      (error: unknown) => `it printed too much, and cannot be killed: ${messageOf(error)}`,
    )
  }
  const timer = setInterval(look, LOOK_MS)
  return {
    async end() {
      look() // It may have ended between two looks.
      clearInterval(timer)
      return await killed
    },
  }
}
