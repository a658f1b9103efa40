import { CONFIG_FILE } from '../base/config-file.ts'
import { onStderr } from './screen/palette.ts'
import type { Asked } from './settings.ts'
import { terminal } from './terminal.ts'

/** Says when what is set elsewhere wins over archivebox.toml. */
export function sayWhoWins({ sources, known }: Asked, name: string): void {
  const names = [name, ...known.aliasesOf(name)]
  const winner = sources.find(({ texts }) => names.some((as) => texts[as]?.trim()))
  if (winner && winner.name !== CONFIG_FILE)
    terminal.say(`${onStderr.yellow('careful:')} ${name} is set ${winner.where}, too, and that wins`)
}
