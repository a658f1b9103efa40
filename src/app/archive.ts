import type { Settings, Texts } from '../base/config.ts'
import type { CONFIG_FILE } from '../base/config-file.ts'
import type { Home } from '../db/home.ts'
import type { KnownSettings } from '../hooks/known-settings.ts'

/** Settings as written, and where. */
export interface Source {
  readonly name: 'command line' | 'environment' | 'machine' | typeof CONFIG_FILE
  readonly texts: Texts
  /** `set in the environment` */
  readonly where: string
}

/** What an archive is opened with: where it is, and the settings that hold there. */
export interface Configured {
  readonly dataDir: string
  /** None: the embedded server. */
  readonly databaseUrl: string | undefined
  readonly settings: Settings
  /** Where these come from, the strongest first. */
  readonly sources: readonly Source[]
  /** What may be set, by the plugins that are here. */
  readonly known: KnownSettings
}

/** An opened data dir with its database. Whoever opens it closes it. */
export interface Archive {
  readonly home: Home
  readonly kind: 'embedded' | 'external'
  readonly settings: Settings
  readonly known: KnownSettings
  /** Waits for a database that went away, as at the start; one of our own is started again. Throws AppError. */
  untilBack(signal?: AbortSignal): Promise<void>
  /** Closes the connection; the last user of an embedded server stops it. */
  close(): Promise<void>
}
