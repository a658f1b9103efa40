import { join } from 'node:path'
import type { Source } from '../app/archive.ts'
import { editConfig, type TomlValue } from '../base/config-edit.ts'
import { CONFIG_FILE } from '../base/config-file.ts'
import { MACHINES, machineFile, machineGuid } from '../base/machine-file.ts'
import { makeFolder } from '../base/make-folder.ts'
import { own } from '../base/own.ts'
import { onStderr } from './screen/palette.ts'
import type { Asked } from './settings.ts'
import { terminal } from './terminal.ts'

/** A file that settings are set in. */
export type SettingsFile = Extract<Source['name'], 'machine' | typeof CONFIG_FILE>

/**
 * Sets settings in archivebox.toml, or in the file of this machine: other names go, and those without a value are
 * removed, by all of their names. Says where what is set elsewhere wins.
 * @returns whether the file is another now
 */
export async function setSettings(
  { sources, known }: Asked,
  dataDir: string,
  settings: ReadonlyMap<string, TomlValue | undefined>,
  file: SettingsFile = CONFIG_FILE,
): Promise<boolean> {
  const place = sources.findIndex(({ name }) => name === file)
  const { texts: set } = sources[place]!
  const others = [...settings.keys()]
    .flatMap((name) => known.aliasesOf(name))
    .filter((as) => own(set, as) !== undefined)
  const changes = new Map<string, TomlValue | undefined>([...others.map((as) => [as, undefined] as const), ...settings])
  const changed = await edit(dataDir, changes, file)
  for (const name of settings.keys()) {
    const names = [name, ...known.aliasesOf(name)]
    const winner = sources.slice(0, place).find(({ texts }) => names.some((as) => own(texts, as)?.trim()))
    if (winner) terminal.say(`${onStderr.yellow('careful:')} ${name} is set ${winner.where}, too, and that wins`)
  }
  return changed
}

async function edit(dataDir: string, changes: ReadonlyMap<string, TomlValue | undefined>, file: SettingsFile) {
  if (file === CONFIG_FILE) return await editConfig(dataDir, changes)
  const folder = join(dataDir, MACHINES)
  makeFolder(folder)
  return await editConfig(folder, changes, machineFile(machineGuid()))
}
