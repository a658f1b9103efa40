import type { Command } from 'commander'
import type { GlobalOptions } from '../options.ts'
import { listOptions } from '../records/list-options.ts'
import type { Asked } from '../settings.ts'
import { verb } from '../verb.ts'

/** `machine`: the machines that work on this database. */
export function registerMachine(
  root: Command,
  globals: () => Promise<GlobalOptions>,
  asked: () => Promise<Asked>,
): void {
  const load = () => import('../commands/machine.ts')
  const group = verb(root, 'machine', 'the machines that have worked on this database')
  listOptions(
    verb(group, 'list', 'all machines: what runs on each, and when it was last seen', ['archivebox-ts machine list']),
  ).action(async (options: object) => (await load()).machineList(await globals(), options))
  verb(group, 'show', 'this machine or others: its settings, and the programs that plugins asked for there', [
    'archivebox-ts machine show',
    'archivebox-ts machine show 9c41d2e7',
  ])
    .argument('[id...]', 'a full id, or at least 6 of its first or last digits')
    .action(async (ids: string[]) => (await load()).machineShow(await globals(), ids))
  verb(group, 'set', 'change a setting for this machine only; it overrides archivebox.toml', [
    'archivebox-ts machine set MAX_SNAPSHOT_WORKERS=2 MAX_CRAWL_WORKERS=1',
  ])
    .argument('<key=value...>', 'or a key and a value')
    .action(async (words: string[]) =>
      (await import('../edit-settings.ts')).editSettings(await asked(), words, 'machine'),
    )
  verb(group, 'unset', 'remove a setting of this machine; archivebox.toml applies again', [
    'archivebox-ts machine unset MAX_SNAPSHOT_WORKERS',
  ])
    .argument('<key...>')
    .action(async (keys: string[]) =>
      (await import('../edit-settings.ts')).unsetSettings(await asked(), keys, 'machine'),
    )
}
