import { InvalidArgumentError } from 'commander'

/** What every verb understands. */
export interface GlobalOptions {
  readonly dataDir: string
  readonly databaseUrl?: string | undefined
  /** Seconds that a database on its way up is waited for. */
  readonly waitDb?: number | undefined
  readonly json?: boolean | undefined
  readonly quiet?: boolean | undefined
  readonly verbose?: boolean | undefined
}

/** The longest that a timer of Node can, in seconds. */
const LONGEST_WAIT = 2_147_483

/** `--wait-db`: seconds; empty, as a variable may be: not given. Throws InvalidArgumentError. */
export function waitSeconds(text: string): number | undefined {
  if (text.trim() === '') return undefined
  const seconds = Number(text)
  if (!(seconds >= 0 && seconds <= LONGEST_WAIT)) throw new InvalidArgumentError(`It takes seconds, from 0 to ${LONGEST_WAIT}.`)
  return seconds
}
