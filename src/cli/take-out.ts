import { type Command, Option } from 'commander'
import type { ExportOptions } from './commands/export.ts'
import type { WaczOptions } from './commands/export-wacz.ts'
import type { RestoreVerb } from './commands/restore.ts'
import type { VerifyOptions } from './commands/verify.ts'
import type { GlobalOptions } from './options.ts'
import { filterOptions } from './records/register.ts'
import { verb } from './verb.ts'

/** The verbs that move an archive out of its data dir, and check that it is complete. */
export function registerTakingOut(root: Command, globals: () => Promise<GlobalOptions>): void {
  const exported = verb(
    root,
    'export',
    'export pages as a list, which add can read back, or as one file that replays',
    [
      'archivebox-ts export --format netscape > bookmarks.html',
      'archivebox-ts export --format csv --tag news --outcome archived > news.csv',
      'archivebox-ts export | archivebox-ts add --data-dir elsewhere',
      'archivebox-ts export --format wacz --tag news > news.wacz',
    ],
  )
  filterOptions(exported, 'snapshot')
    .option('-n <count>', 'at most this many')
    .addOption(
      new Option('--format <format>', 'the output format')
        .choices(['jsonl', 'csv', 'netscape', 'html', 'urls', 'wacz'])
        .default('jsonl'),
    )
    .action(async (options: ExportOptions | WaczOptions) =>
      options.format === 'wacz'
        ? (await import('./commands/export-wacz.ts')).exportWacz(await globals(), options)
        : (await import('./commands/export.ts')).exportAsText(await globals(), options),
    )

  verb(root, 'verify', 'check every file against its recorded size and hash, and rows against files', [
    'archivebox-ts verify',
    'archivebox-ts verify --quick --mend',
  ])
    .option('--quick', 'presence and sizes only')
    .option('--mend', 'rerun the hooks of missing files, write missing pages, move files without a row aside')
    .action(async (options: VerifyOptions) => (await import('./commands/verify.ts')).verify(await globals(), options))

  verb(root, 'backup', 'write all rows to one file, even while a runner works, and a list of their files', [
    'archivebox-ts backup rows.zst',
    'rsync -ar --ignore-missing-args --files-from=rows.zst.files data/ elsewhere/',
  ])
    .argument('<file>')
    .option('--check', 'afterwards restore it, where there is room, into a database that is removed again')
    .action(async (file: string, options: { check?: boolean }) =>
      (await import('./commands/backup.ts')).backup(await globals(), file, options),
    )

  verb(root, 'restore', 'read the rows of a backup into an empty data dir or database', [
    'archivebox-ts restore --data-dir elsewhere rows.zst',
  ])
    .argument('<file>')
    .option('--trust-settings', 'I trust this backup: also restore its programs, arguments, addresses and paths')
    .action(async (file: string, options: RestoreVerb) =>
      (await import('./commands/restore.ts')).restore(await globals(), file, options),
    )
}
