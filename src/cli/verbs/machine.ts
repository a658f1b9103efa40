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
    verb(group, 'list', 'all of them: what runs on each, and when it was heard of last', [
      'archivebox-ts machine list',
    ]),
  ).action(async (options: object) => (await load()).machineList(await globals(), options))
  verb(group, 'show', 'this one, or others: settings, and the programs that plugins asked for there', [
    'archivebox-ts machine show',
    'archivebox-ts machine show 9c41d2e7',
  ])
    .argument('[id...]', 'whole, or its first or last digits, at least 6')
    .action(async (ids: string[]) => (await load()).machineShow(await globals(), ids))
  verb(group, 'set', 'set it for this machine alone; wins over archivebox.toml', [
    'archivebox-ts machine set MAX_SNAPSHOT_WORKERS=2 MAX_CRAWL_WORKERS=1',
  ])
    .argument('<key=value...>', 'or a key and a value')
    .action(async (words: string[]) =>
      (await import('../edit-settings.ts')).editSettings(await asked(), words, 'machine'),
    )
  verb(group, 'unset', 'what holds for all machines holds for this one again', [
    'archivebox-ts machine unset MAX_SNAPSHOT_WORKERS',
  ])
    .argument('<key...>')
    .action(async (keys: string[]) =>
      (await import('../edit-settings.ts')).unsetSettings(await asked(), keys, 'machine'),
    )
}
