import { join } from 'node:path'
import { ENVIRONMENT, readSetting, strongest } from '../../base/config.ts'
import { readConfigFile } from '../../base/config-file.ts'
import { readMachineFile } from '../../base/machine-file.ts'
import { secretsIn } from '../../base/secrets.ts'
import { personasIn } from '../../browse/persona/files.ts'
import { findPlugins, pluginTrees } from '../../hooks/discover.ts'
import { KnownSettings } from '../../hooks/known-settings.ts'
import type { LookUp, Word } from './words.ts'

/** Plugins and settings of the data dir that the command line means; ids and tags of its database if that is up. */
export const lookUp: LookUp = async (source, begun, typed) => {
  const commandLine = { DATA_DIR: typed.get('--data-dir'), DATABASE_URL: typed.get('--database-url') }
  const dataDir = readSetting('DATA_DIR', strongest(commandLine, ENVIRONMENT))
  const files = [readMachineFile(dataDir), readConfigFile(dataDir)].map((read) => read.catch(() => ({})))
  const layers = [commandLine, ENVIRONMENT, ...(await Promise.all(files))]
  const texts = strongest(...layers.map((each) => ({ ...secretsIn(each), ...each })))
  if (source === 'persona') return personasIn(join(dataDir, 'personas')).map((word) => ({ word, about: '' }))
  if (source === 'plugin' || source === 'setting') {
    const plugins = findPlugins(pluginTrees(dataDir, texts))
    if (source === 'setting') return settings(new KnownSettings(plugins), begun)
    return plugins.map(({ name, means }) => ({ word: name, about: means })).sort((a, b) => (a.word < b.word ? -1 : 1))
  }
  const { latestRows } = await import('../../db/latest-rows.ts')
  return await latestRows(readSetting('DATABASE_URL', texts), dataDir, source.replace(/-id$/, ''), begun)
}

/** The names of settings; after `KEY=`, the values that it takes. */
function settings(known: KnownSettings, begun: string): Word[] {
  const [key = '', value] = begun.split('=')
  if (value !== undefined)
    return (known.all.get(key)?.kind.words ?? []).map((word) => ({ word: `${key}=${word}`, about: '' }))
  return [...known.all].map(([name, { means }]) => ({ word: name, about: means }))
}
