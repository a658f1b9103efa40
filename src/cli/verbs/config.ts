import type { Command } from 'commander'
import { CONFIG_FILE } from '../../base/config-file.ts'
import { listOptions } from '../records/list-options.ts'
import type { Asked } from '../settings.ts'
import { verb } from '../verb.ts'

/** `config`: reads and changes settings. Works even when some settings are invalid. */
export function registerConfig(root: Command, asked: () => Promise<Asked>): void {
  const group = verb(root, 'config', 'settings: their values, where the values come from, and archivebox.toml')
  const list = verb(group, 'list', 'all settings, their values, and where these come from', [
    'archivebox-ts config list',
    'archivebox-ts config list --changed',
    'archivebox-ts config list wget timeout',
  ])
    .argument('[word...]', 'only settings with one of these words in the name')
    .option('--changed', 'only settings that something sets, even to their default')
  listOptions(list).action(async (words: string[], options: object) =>
    (await import('../commands/config.ts')).configList(await asked(), words, options),
  )
  verb(group, 'get', 'the value of a setting, what it accepts and what it means', [
    'archivebox-ts config get TIMEOUT',
    'archivebox-ts config get --value MAX_SNAPSHOT_WORKERS',
  ])
    .argument('<key...>')
    .option('--value', 'print only the value')
    .action(async (keys: string[], options: object) =>
      (await import('../commands/config.ts')).configGet(await asked(), keys, options),
    )
  verb(group, 'set', 'change a setting in archivebox.toml; comments and everything else stay as they are', [
    'archivebox-ts config set TIMEOUT 30',
    'archivebox-ts config set WGET_ENABLED=false DISK_FLOOR=500',
  ])
    .argument('<key=value...>', 'or a key and a value')
    .action(async (words: string[]) =>
      (await import('../edit-settings.ts')).editSettings(await asked(), words, CONFIG_FILE),
    )
  verb(group, 'unset', 'remove a setting from archivebox.toml', ['archivebox-ts config unset TIMEOUT'])
    .argument('<key...>')
    .action(async (keys: string[]) =>
      (await import('../edit-settings.ts')).unsetSettings(await asked(), keys, CONFIG_FILE),
    )
  verb(group, 'edit', 'open archivebox.toml in $EDITOR, and check the result', [
    'EDITOR=true archivebox-ts config edit',
  ]).action(async () => (await import('../commands/config-edit.ts')).configEdit(await asked()))
}
