import type { Configured } from '../app/archive.ts'

/** The global options, as typed. */
export interface GivenOptions {
  readonly dataDir?: string | undefined
  readonly databaseUrl?: string | undefined
  readonly waitDb?: string | undefined
  readonly json?: boolean | undefined
  readonly quiet?: boolean | undefined
  readonly verbose?: boolean | undefined
}

/** The same, with the settings in force: read once, checked, and passed on from here. */
export interface GlobalOptions extends GivenOptions, Configured {
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  /** The option as typed, if given. */
  readonly dataDirGiven: string | undefined
  /** The option as typed, if given. */
  readonly databaseUrlGiven: string | undefined
}
