import type { Archive } from '../app/archive.ts'
import type { Examined } from '../app/doctor/check.ts'
import type { Log } from '../base/log.ts'
import type { Sessions } from './access/sessions.ts'
import type { CopyAddresses } from './content/addresses.ts'
import type { DatabaseWatch } from './database-watch.ts'
import type { Names } from './names.ts'

/** What the parts of a server share. */
export interface Web {
  readonly archive: Archive
  /** Settings with their sources, and what may be set. */
  readonly configured: Examined
  readonly log: Log
  readonly names: Names
  readonly sessions: Sessions
  readonly copies: CopyAddresses
  readonly database: DatabaseWatch
}
