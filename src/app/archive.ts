import type { Settings } from '../base/config.ts'
import type { Home } from '../db/home.ts'
import type { KnownSettings } from '../hooks/known-settings.ts'

/** What an archive is opened with: where it is, and the settings that hold there. */
export interface Configured {
  readonly dataDir: string
  /** None: the embedded server. */
  readonly databaseUrl: string | undefined
  readonly settings: Settings
  /** What may be set, by the plugins that are here. */
  readonly known: KnownSettings
}

/** An opened data dir with its database. Whoever opens it closes it. */
export interface Archive {
  readonly home: Home
  readonly kind: 'embedded' | 'external'
  readonly settings: Settings
  /** Waits for a database that went away, as at the start; one of our own is started again. Throws AppError. */
  untilBack(signal?: AbortSignal): Promise<void>
  /** Closes the connection; the last user of an embedded server stops it. */
  close(): Promise<void>
}
