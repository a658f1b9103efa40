import type { Command } from 'commander'
import { CONFIG_FILE } from '../../base/config-file.ts'
import { listOptions } from '../records/list-options.ts'
import type { Asked } from '../settings.ts'
import { verb } from '../verb.ts'

/** `config`: reads and changes settings. Wrong ones do not keep it from being used. */
export function registerConfig(root: Command, asked: () => Promise<Asked>): void {
  const group = verb(root, 'config', 'settings: their values, where those come from, and archivebox.toml')
  const list = verb(group, 'list', 'all settings with their values, and what gave them those', [
    'archivebox-ts config list',
    'archivebox-ts config list --changed',
    'archivebox-ts config list wget timeout',
  ])
    .argument('[word...]', 'only those with one of these in their names')
    .option('--changed', 'only those that are not at their default')
  listOptions(list).action(async (words: string[], options: object) =>
    (await import('../commands/config.ts')).configList(await asked(), words, options),
  )
  verb(group, 'get', 'what a setting is, takes and means', [
    'archivebox-ts config get TIMEOUT',
    'archivebox-ts config get --value MAX_SNAPSHOT_WORKERS',
  ])
    .argument('<key...>')
    .option('--value', 'only its value')
    .action(async (keys: string[], options: object) =>
      (await import('../commands/config.ts')).configGet(await asked(), keys, options),
    )
  verb(group, 'set', 'set it in archivebox.toml; comments and all else stay as they are', [
    'archivebox-ts config set TIMEOUT 30',
    'archivebox-ts config set WGET_ENABLED=false DISK_FLOOR=500',
  ])
    .argument('<key=value...>', 'or a key and a value')
    .action(async (words: string[]) =>
      (await import('../edit-settings.ts')).editSettings(await asked(), words, CONFIG_FILE),
    )
  verb(group, 'unset', 'remove it from archivebox.toml', ['archivebox-ts config unset TIMEOUT'])
    .argument('<key...>')
    .action(async (keys: string[]) =>
      (await import('../edit-settings.ts')).unsetSettings(await asked(), keys, CONFIG_FILE),
    )
  verb(group, 'edit', 'open archivebox.toml in $EDITOR, and check what comes back', [
    'EDITOR=true archivebox-ts config edit',
  ]).action(async () => (await import('../commands/config-edit.ts')).configEdit(await asked()))
}
