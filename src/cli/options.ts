import type { Settings } from '../base/config.ts'
import type { KnownSettings } from '../hooks/known-settings.ts'
import type { DatabaseAhead } from './database-ahead.ts'

/** What every verb understands, as it was typed. */
export interface GivenOptions {
  readonly dataDir?: string | undefined
  readonly databaseUrl?: string | undefined
  readonly waitDb?: string | undefined
  readonly json?: boolean | undefined
  readonly quiet?: boolean | undefined
  readonly verbose?: boolean | undefined
}

/** The same, with the settings that hold: read once, checked, and passed on from here. */
export interface GlobalOptions extends GivenOptions {
  readonly dataDir: string
  /** None: the embedded server. */
  readonly databaseUrl: string | undefined
  /** As it was typed, if it was. */
  readonly databaseUrlGiven: string | undefined
  readonly settings: Settings
  /** What may be set, by the plugins that are here. */
  readonly known: KnownSettings
  /** The embedded server, if a command that is in a hurry has asked for a connection already. */
  readonly ahead?: DatabaseAhead | undefined
}
