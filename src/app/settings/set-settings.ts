import { join } from 'node:path'
import { editConfig, type TomlValue } from '../../base/config-edit.ts'
import { CONFIG_FILE } from '../../base/config-file.ts'
import { MACHINES, machineFile, machineGuid } from '../../base/machine-file.ts'
import { makeFolder } from '../../base/make-folder.ts'
import { own } from '../../base/own.ts'
import type { Configured, Source } from '../archive.ts'
import type { Call } from '../call.ts'

/** A setting is also set elsewhere, which overrides the change. */
export interface Overridden {
  readonly event: 'overridden'
  readonly name: string
  /** `in the environment` */
  readonly where: string
}

/** A file of settings. */
export type SettingsFile = Extract<Source['name'], 'machine' | typeof CONFIG_FILE>

/**
 * Changes settings in archivebox.toml, or in the file of this machine: their aliases are removed, and so are settings
 * without a value, under all of their names. Reports settings that are overridden elsewhere.
 * @returns whether the file has changed
 */
export async function setSettings(
  { dataDir, sources, known }: Configured,
  settings: ReadonlyMap<string, TomlValue | undefined>,
  { tell, file = CONFIG_FILE }: Pick<Call<Overridden>, 'tell'> & { readonly file?: SettingsFile } = {},
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
    if (winner) tell?.({ event: 'overridden', name, where: winner.where })
  }
  return changed
}

async function edit(dataDir: string, changes: ReadonlyMap<string, TomlValue | undefined>, file: SettingsFile) {
  if (file === CONFIG_FILE) return await editConfig(dataDir, changes)
  const folder = join(dataDir, MACHINES)
  makeFolder(folder)
  return await editConfig(folder, changes, machineFile(machineGuid()))
}
