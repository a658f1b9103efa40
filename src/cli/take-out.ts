import { type Command, Option } from 'commander'
import type { ExportOptions } from './commands/export.ts'
import type { GlobalOptions } from './options.ts'
import { filterOptions } from './records/register.ts'
import { verb } from './verb.ts'

/** The verbs that take an archive out of its data dir, and prove that it is whole. */
export function registerTakingOut(root: Command, globals: () => Promise<GlobalOptions>): void {
  const exported = verb(root, 'export', 'pages as a list for other programs; add reads it back', [
    'archivebox-ts export --format netscape > bookmarks.html',
    'archivebox-ts export --format csv --tag news --outcome archived > news.csv',
    'archivebox-ts export | archivebox-ts add --data-dir elsewhere',
  ])
  filterOptions(exported, 'snapshot')
    .addOption(
      new Option('--format <format>', 'what it looks like')
        .choices(['jsonl', 'csv', 'netscape', 'html', 'urls'])
        .default('jsonl'),
    )
    .action(async (options: ExportOptions) =>
      (await import('./commands/export.ts')).exportPages(await globals(), options),
    )
}
