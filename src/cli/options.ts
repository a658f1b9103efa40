/** What every verb understands. */
export interface GlobalOptions {
  readonly dataDir: string
  readonly databaseUrl?: string | undefined
  readonly json?: boolean | undefined
  readonly quiet?: boolean | undefined
  readonly verbose?: boolean | undefined
}
