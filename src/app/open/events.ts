import type { DatabaseEvent } from '../../db/events.ts'
import type { MigrationPlan } from '../../db/migration-plan.ts'

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
  /** It takes long: about so many seconds, to write so many rows. */
  | ({ readonly event: 'schema change begins' } & MigrationPlan)
  /** As they were under that schema, before it is changed. */
  | { readonly event: 'rows backed up'; readonly file: string; readonly schema: number }
  | { readonly event: 'schema changed'; readonly applied: readonly string[] }
  /** `torn`: its database was in use while it was copied. */
  | { readonly event: 'copied data dir'; readonly dataDir: string; readonly torn: boolean }
