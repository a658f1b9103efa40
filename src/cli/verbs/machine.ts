import type { Command } from 'commander'
import type { GlobalOptions } from '../options.ts'
import { verb } from '../verb.ts'

/** `machine`: the machines that work on this database. */
export function registerMachine(root: Command, globals: () => Promise<GlobalOptions>): void {
  const load = () => import('../commands/machine.ts')
  const group = verb(root, 'machine', 'the machines that have worked on this database')
  verb(group, 'list', 'all of them: what runs on each, and when it was heard of last', [
    'archivebox-ts machine list',
  ]).action(async () => (await load()).machineList(await globals()))
  verb(group, 'show', 'one of them, and the programs that plugins asked for there', [
    'archivebox-ts machine show 9c41d2e7',
  ])
    .argument('<id...>', 'whole, or its first or last digits, at least 6')
    .action(async (ids: string[]) => (await load()).machineShow(await globals(), ids))
}
