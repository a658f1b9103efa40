import { editConfig, type TomlValue } from '../base/config-edit.ts'
import { CONFIG_FILE } from '../base/config-file.ts'
import { onStderr } from './screen/palette.ts'
import type { Asked } from './settings.ts'
import { terminal } from './terminal.ts'

/**
 * Sets settings in archivebox.toml, where their other names go, and removes those without a value, by all of their
 * names. Says where what is set elsewhere wins.
 * @returns whether the file is another now
 */
export async function setSettings(
  { sources, known }: Asked,
  dataDir: string,
  settings: ReadonlyMap<string, TomlValue | undefined>,
): Promise<boolean> {
  const file = sources.find(({ name }) => name === CONFIG_FILE)?.texts ?? {}
  const others = [...settings.keys()].flatMap((name) => known.aliasesOf(name)).filter((as) => file[as] !== undefined)
  const changes = new Map<string, TomlValue | undefined>([...others.map((as) => [as, undefined] as const), ...settings])
  const changed = await editConfig(dataDir, changes)
  for (const name of settings.keys()) {
    const names = [name, ...known.aliasesOf(name)]
    const winner = sources.find(({ texts }) => names.some((as) => texts[as]?.trim()))
    if (winner && winner.name !== CONFIG_FILE)
      terminal.say(`${onStderr.yellow('careful:')} ${name} is set ${winner.where}, too, and that wins`)
  }
  return changed
}
