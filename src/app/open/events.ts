import type { DatabaseEvent } from '../../db/events.ts'

/** What happens on the way to a database. */
export type OpenEvent =
  | DatabaseEvent
  /** It is not ready yet; reported again each minute, with the minutes since the first time. */
  | {
      readonly event: 'waiting for database'
      readonly why: string
      readonly budgetMs: number
      readonly minutes: number | undefined
    }
  | { readonly event: 'database ready'; readonly seconds: number }
  /** It went away after it had been there. */
  | { readonly event: 'database away'; readonly why: string; readonly budgetMs: number }
  /** In an external server, which was empty. */
  | { readonly event: 'database made' }
  | { readonly event: 'schema changed'; readonly applied: readonly string[] }
  /** `torn`: its database was in use while it was copied. */
  | { readonly event: 'copied data dir'; readonly dataDir: string; readonly torn: boolean }
