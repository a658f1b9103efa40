import { join, resolve } from 'node:path'
import { readSetting, SETTINGS, settingsOf, strongest, type Texts } from '../../base/config.ts'
import { CONFIG_FILE, readConfigFile } from '../../base/config-file.ts'
import { isDataDir } from '../../base/data-dir.ts'
import { MACHINES, machineFile, machineGuid, readMachineFile } from '../../base/machine-file.ts'
import { whyUnusable } from '../../base/make-folder.ts'
import { own } from '../../base/own.ts'
import type { Problems } from '../../base/problems.ts'
import { secretsIn, withPassword } from '../../base/secrets.ts'
import { findPlugins, pluginTrees } from '../../hooks/discover.ts'
import { KnownSettings } from '../../hooks/known-settings.ts'
import type { Configured, Source } from '../archive.ts'
import type { Call } from '../call.ts'

export interface ConfigureInput {
  /** Settings from the command line: they override all others. */
  readonly commandLine: Texts
  readonly environment: Texts
  /** Whether a data dir is created where there is none. */
  readonly makes: boolean
}

/** A name in a file that is no setting, but resembles one. */
export interface NoSetting {
  readonly event: 'no setting'
  readonly name: string
  readonly path: string
  readonly meant: string
}

/** Besides the usual: the option that sets a setting on the command line. */
interface Words extends Pick<Call<NoSetting>, 'tell'> {
  readonly nameOf?: (setting: string) => string | undefined
}

/**
 * Reads the settings, once, before anything is done: the command line overrides the environment, that overrides the
 * file of the machine, and that overrides archivebox.toml. Problems with them are added to `problems`.
 */
export async function configure(
  { commandLine, environment, makes }: ConfigureInput,
  problems: Problems,
  { tell, nameOf = () => undefined }: Words = {},
): Promise<Configured> {
  const dataDir = readSetting('DATA_DIR', strongest(commandLine, environment))
  const file = await readConfigFile(dataDir).catch((error: unknown) => problems.keep(error))
  const ofMachine = join(MACHINES, machineFile(machineGuid()))
  const machine = await readMachineFile(dataDir).catch((error: unknown) => problems.keep(error))
  const secrets = (texts: Texts) => problems.attempt(() => secretsIn(texts)) ?? {}
  const sources: readonly Source[] = [
    { name: 'command line', texts: commandLine, where: 'on the command line' },
    { name: 'environment', texts: { ...secrets(environment), ...environment }, where: 'in the environment' },
    { name: 'machine', texts: { ...secrets(machine ?? {}), ...machine }, where: `in ${resolve(dataDir, ofMachine)}` },
    { name: CONFIG_FILE, texts: { ...secrets(file ?? {}), ...file }, where: `in ${resolve(dataDir, CONFIG_FILE)}` },
  ]
  const texts = strongest(...sources.map((source) => source.texts))
  const settings = settingsOf(texts)
  const known = new KnownSettings(findPlugins(pluginTrees(dataDir, texts)))
  for (const [name, text] of Object.entries(texts)) {
    const why = text === undefined ? undefined : known.refusal(name, text)
    const source = sources.find((each) => own(each.texts, name) !== undefined)
    const option = source?.name === 'command line' ? nameOf(name) : undefined
    if (why !== undefined)
      problems.add(option ? why.replace(`${name}=`, `${option} `) : `${why} (set ${source?.where})`)
  }
  for (const name of ['DATA_DIR', 'DATABASE_URL'] as const)
    if (commandLine[name]?.trim() === '')
      problems.add(`${nameOf(name) ?? name} takes ${SETTINGS[name].kind.takes}, not an empty value`)
  for (const [path, set = {}] of [[ofMachine, machine] as const, [CONFIG_FILE, file] as const]) {
    for (const name of Object.keys(set)) {
      const meant = known.knows(name) ? undefined : known.meantBy(name)
      if (meant !== undefined) tell?.({ event: 'no setting', name, path, meant })
    }
  }
  const unusable = makes && file && !isDataDir(dataDir) ? whyUnusable(dataDir) : undefined
  if (unusable !== undefined) problems.add(unusable, 'choose another one with --data-dir')
  const { DATA_DIR, DATABASE_URL } = settings.config
  const databaseUrl = DATABASE_URL && withPassword(DATABASE_URL, environment['PGPASSWORD'])
  return { dataDir: DATA_DIR, databaseUrl, settings, known, sources }
}
