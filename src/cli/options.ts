import type { Configured } from '../app/archive.ts'

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
export interface GlobalOptions extends GivenOptions, Configured {
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  /** As it was typed, if it was. */
  readonly databaseUrlGiven: string | undefined
}
