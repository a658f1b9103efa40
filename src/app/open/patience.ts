import { AppError, messageOf } from '../../base/errors.ts'
import type { Patience } from '../../db/patience.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import type { OpenEvent } from './events.ts'

/** A database that fails this long after it was back is away anew. */
const ANEW_MS = 10_000

/**
 * How a command waits for a database that goes away while it works, once it is open: for as long as `--wait-db` allows,
 * while an embedded server is brought back. Connections wait, and so do statements that may be repeated (`withRetry`).
 * Any other statement in progress ends the command: it may or may not have taken effect.
 * @param revive one step to bring back an embedded server that was lost
 */
export function patience(budgetMs: number, revive: () => Promise<void>, tell: (event: OpenEvent) => void): Patience {
  const { signal: until } = new AbortController() // The budget ends the wait, by an error of its own.
  let since = Number.NEGATIVE_INFINITY
  let lastAt = Number.NEGATIVE_INFINITY
  return {
    until,
    onWait: async (error) => {
      if (error instanceof AppError) throw error // A new connection was waited for in vain.
      if (!isDatabaseAway(error)) return // A collision is repeated as often as ever.
      const now = performance.now()
      if (now - lastAt > ANEW_MS) {
        since = now
        if (budgetMs > 0) tell({ event: 'database away', why: messageOf(error), budgetMs })
      }
      lastAt = now
      if (now - since >= budgetMs)
        throw new AppError(`waited ${budgetMs / 1_000} s for the database: ${messageOf(error)}`, {
          hint: '--wait-db SECONDS waits longer',
          cause: error,
        })
      await revive().catch(() => {}) // It may not be up yet; the next attempt tells.
      lastAt = performance.now()
    },
  }
}
