import type { Settings, Texts } from '../base/config.ts'
import type { CONFIG_FILE } from '../base/config-file.ts'
import type { Home } from '../db/home.ts'
import type { KnownSettings } from '../hooks/known-settings.ts'

/** Settings as written, and their source. */
export interface Source {
  readonly name: 'command line' | 'environment' | 'machine' | typeof CONFIG_FILE
  readonly texts: Texts
  /** `set in the environment` */
  readonly where: string
}

/** What an archive is opened with: its place, and the settings in force there. */
export interface Configured {
  readonly dataDir: string
  /** None: the embedded server. */
  readonly databaseUrl: string | undefined
  readonly settings: Settings
  /** The sources of the settings, the strongest first. */
  readonly sources: readonly Source[]
  /** The settings that exist, including those of the plugins here. */
  readonly known: KnownSettings
}

/** An opened data dir with its database. Whoever opens it closes it. */
export interface Archive {
  readonly home: Home
  readonly kind: 'embedded' | 'external'
  readonly settings: Settings
  readonly known: KnownSettings
  /** Waits for a database that went away, as at the start; restarts an embedded one. Throws AppError. */
  untilBack(signal?: AbortSignal): Promise<void>
  /** Closes the connection; the last user of an embedded server stops it. */
  close(): Promise<void>
}
