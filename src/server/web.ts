import type { Archive } from '../app/archive.ts'
import type { Examined } from '../app/doctor/check.ts'
import type { Log } from '../base/log.ts'
import type { Sessions } from './access/sessions.ts'
import type { CopyAddresses } from './content/addresses.ts'
import type { DatabaseWatch } from './database-watch.ts'
import type { Names } from './names.ts'

/** The archive with its current settings, as `status` takes it. */
export async function archiveNow({ archive: { home, kind }, settingsNow }: Pick<Web, 'archive' | 'settingsNow'>) {
  return { home, kind, settings: (await settingsNow()).settings }
}

/** What the parts of a server share. */
export interface Web {
  readonly archive: Archive
  /** The settings as a command that starts now would get them, with their sources, and the known settings. */
  settingsNow(): Promise<Examined>
  readonly log: Log
  readonly names: Names
  readonly sessions: Sessions
  readonly copies: CopyAddresses
  readonly database: DatabaseWatch
}
