import type { Command } from 'commander'
import type { GlobalOptions } from '../options.ts'
import { listOptions } from '../records/list-options.ts'
import { verb } from '../verb.ts'

/** `tag` and its verbs. */
export function registerTag(root: Command, globals: () => Promise<GlobalOptions>): void {
  const load = async () => await import('../commands/tag.ts')
  const tags = verb(root, 'tag', 'the tags of pages')
  listOptions(verb(tags, 'list', 'tags, and how many pages have them', ['archivebox-ts tag list'])).action(
    async (options: object) => (await load()).tagList(await globals(), options),
  )
  verb(tags, 'rename', 'give a tag another name', ['archivebox-ts tag rename to-read read'])
    .argument('<name>')
    .argument('<new-name>')
    .action(async (name: string, newName: string) => (await load()).tagRename(await globals(), name, newName))
  verb(tags, 'merge', 'merge tags into the last one, which gets the pages of the others', [
    'archivebox-ts tag merge newspaper press papers',
  ])
    .argument('<name...>')
    .action(async (names: string[]) => (await load()).tagMerge(await globals(), names))
  verb(tags, 'delete', 'remove tags from all pages; the pages stay', ['archivebox-ts tag delete --yes old'])
    .argument('<name...>')
    .option('--yes', 'do it: without this nothing is changed')
    .action(async (names: string[], options: { yes?: boolean }) =>
      (await load()).tagDelete(await globals(), names, options),
    )
}
