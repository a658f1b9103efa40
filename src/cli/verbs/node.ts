import type { Command } from 'commander'
import type { GlobalOptions } from '../options.ts'
import { listOptions } from '../records/list-options.ts'
import { verb } from '../verb.ts'

const WHICH = 'its name, its id, or at least 6 of the first or last digits of that'

/** `node`: the data dirs that share this database. */
export function registerNode(root: Command, globals: () => Promise<GlobalOptions>): void {
  const load = () => import('../commands/node.ts')
  const group = verb(root, 'node', 'the nodes of this database: data dirs, each with its files and its runner')
  listOptions(
    verb(group, 'list', 'all nodes: who leads there, what they work on and have, and what waits for them', [
      'archivebox-ts node list',
    ]),
  ).action(async (options: object) => (await load()).nodeList(await globals(), options))
  verb(group, 'show', 'this node or others, and how their plugins and settings differ', [
    'archivebox-ts node show alpha',
  ])
    .argument('[node...]', WHICH)
    .action(async (nodes: string[]) => (await load()).nodeShow(await globals(), nodes))
  verb(group, 'drain', 'have it begin nothing new and finish what runs; others may go on with its pages', [
    'archivebox-ts node drain alpha',
    'archivebox-ts node drain --undo alpha',
  ])
    .argument('[node]', `this one if none is named; else ${WHICH}`)
    .option('--undo', 'let it work again')
    .action(async (node: string | undefined, options: object) =>
      (await load()).nodeDrain(await globals(), node, options),
    )
  verb(group, 'forget', 'give up a lost node and its files: its pages fail, and can be archived again elsewhere', [
    'archivebox-ts node forget beta',
    'archivebox-ts node forget --yes beta',
  ])
    .argument('<node>', WHICH)
    .option('--yes', 'do it; without this it only says what would be lost')
    .action(async (node: string, options: object) => (await load()).nodeForget(await globals(), node, options))
  verb(group, 'adopt', 'take over the pages of a node whose data dir was copied into this one, after checking files', [
    'archivebox-ts node adopt gamma',
  ])
    .argument('<node>', WHICH)
    .action(async (node: string) => (await load()).nodeAdopt(await globals(), node))
}
