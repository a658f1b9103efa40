import { configure } from '../app/settings/configure.ts'
import { ENVIRONMENT, SETTINGS, type Setting, type Texts } from '../base/config.ts'
import { own } from '../base/own.ts'
import { Problems } from '../base/problems.ts'
import { sayMeanwhile } from './meanwhile.ts'
import type { GivenOptions, GlobalOptions } from './options.ts'

/** The options of a verb, the settings in force, and the problems found with them so far. */
export interface Asked extends GlobalOptions {
  readonly problems: Problems
}

/** Reads what a verb of this program needs, once the line is parsed; see `atTheDoor`. */
export type Asking = (makes: boolean, tell?: typeof sayMeanwhile) => Promise<Asked>

/**
 * Reads the settings, once, before anything is done.
 * @param makes whether this verb creates a data dir where there is none
 * @param tell is told of unknown names in settings files
 */
export async function atTheDoor(given: GivenOptions, makes: boolean, tell = sayMeanwhile): Promise<Asked> {
  const problems = new Problems()
  const commandLine: Texts = {
    DATA_DIR: given.dataDir,
    DATABASE_URL: given.databaseUrl,
    WAIT_DB: given.waitDb,
    LOG_LEVEL: given.verbose ? 'debug' : undefined,
  }
  const configured = await configure({ commandLine, environment: ENVIRONMENT, makes }, problems, {
    tell,
    nameOf: (name) => own<Setting>(SETTINGS, name)?.option,
  })
  return { ...given, ...configured, dataDirGiven: given.dataDir, databaseUrlGiven: given.databaseUrl, problems }
}
