import { join, resolve } from 'node:path'
import type { Source } from '../app/archive.ts'
import { ENVIRONMENT, readSetting, SETTINGS, type Setting, settingsOf, strongest, type Texts } from '../base/config.ts'
import { CONFIG_FILE, readConfigFile } from '../base/config-file.ts'
import { isDataDir } from '../base/data-dir.ts'
import { MACHINES, machineFile, machineGuid, readMachineFile } from '../base/machine-file.ts'
import { whyUnusable } from '../base/make-folder.ts'
import { own } from '../base/own.ts'
import { Problems } from '../base/problems.ts'
import { secretsIn, withPassword } from '../base/secrets.ts'
import { findPlugins, pluginTrees } from '../hooks/discover.ts'
import { KnownSettings } from '../hooks/known-settings.ts'
import type { GivenOptions, GlobalOptions } from './options.ts'
import { onStderr } from './screen/palette.ts'
import { terminal } from './terminal.ts'

/** The options of a verb with the settings that hold, and what is wrong with them so far. */
export interface Asked extends GlobalOptions {
  readonly problems: Problems
}

/** What a verb of this program is asked for, once the line is parsed; see `atTheDoor`. */
export type Asking = (makes: boolean) => Promise<Asked>

/**
 * Reads the settings, once, before anything is done: the command line wins over the environment, that over those of the
 * machine, and these over archivebox.toml.
 * @param makes does this verb make a data dir where there is none?
 */
export async function atTheDoor(given: GivenOptions, makes: boolean): Promise<Asked> {
  const problems = new Problems()
  const commandLine: Texts = {
    DATA_DIR: given.dataDir,
    DATABASE_URL: given.databaseUrl,
    WAIT_DB: given.waitDb,
    LOG_LEVEL: given.verbose ? 'debug' : undefined,
  }
  const dataDir = readSetting('DATA_DIR', strongest(commandLine, ENVIRONMENT))
  const file = await readConfigFile(dataDir).catch((error: unknown) => problems.keep(error))
  const ofMachine = join(MACHINES, machineFile(machineGuid()))
  const machine = await readMachineFile(dataDir).catch((error: unknown) => problems.keep(error))
  const secrets = (texts: Texts) => problems.attempt(() => secretsIn(texts)) ?? {}
  const sources: readonly Source[] = [
    { name: 'command line', texts: commandLine, where: 'on the command line' },
    { name: 'environment', texts: { ...secrets(ENVIRONMENT), ...ENVIRONMENT }, where: 'in the environment' },
    { name: 'machine', texts: { ...secrets(machine ?? {}), ...machine }, where: `in ${resolve(dataDir, ofMachine)}` },
    { name: CONFIG_FILE, texts: { ...secrets(file ?? {}), ...file }, where: `in ${resolve(dataDir, CONFIG_FILE)}` },
  ]
  const texts = strongest(...sources.map((source) => source.texts))
  const settings = settingsOf(texts)
  const known = new KnownSettings(findPlugins(pluginTrees(dataDir, texts)))
  for (const [name, text] of Object.entries(texts)) {
    const why = text === undefined ? undefined : known.refusal(name, text)
    const source = sources.find((each) => own(each.texts, name) !== undefined)
    const option = source?.name === 'command line' ? own<Setting>(SETTINGS, name)?.option : undefined
    if (why !== undefined)
      problems.add(option ? why.replace(`${name}=`, `${option} `) : `${why} (set ${source?.where})`)
  }
  for (const name of ['DATA_DIR', 'DATABASE_URL'] as const) {
    const { option, kind } = SETTINGS[name]
    if (commandLine[name]?.trim() === '') problems.add(`${option} takes ${kind.takes}, not nothing`)
  }
  for (const [path, set = {}] of [[ofMachine, machine] as const, [CONFIG_FILE, file] as const]) {
    for (const name of Object.keys(set)) {
      const meant = known.knows(name) ? undefined : known.meantBy(name)
      if (meant === undefined) continue
      terminal.say(`${onStderr.yellow('careful:')} ${name} in ${path} is no setting: did you mean ${meant}?`)
    }
  }
  const unusable = makes && file && !isDataDir(dataDir) ? whyUnusable(dataDir) : undefined
  if (unusable !== undefined) problems.add(unusable, 'choose another with --data-dir')
  const { DATA_DIR, DATABASE_URL } = settings.config
  const databaseUrl = DATABASE_URL && withPassword(DATABASE_URL, ENVIRONMENT['PGPASSWORD'])
  const place = { dataDir: DATA_DIR, databaseUrl, databaseUrlGiven: given.databaseUrl }
  return { ...given, ...place, settings, known, problems, sources }
}
