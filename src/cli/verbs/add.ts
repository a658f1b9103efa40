import { type Command, Option } from 'commander'
import { FORMATS } from '../../importers/formats.ts'
import type { AddOptions } from '../commands/add.ts'
import { limitOptions } from '../records/register.ts'
import type { Asking } from '../settings.ts'
import { verb } from '../verb.ts'

/** `add`. */
export function registerAdd(root: Command, asked: Asking): void {
  limitOptions(
    verb(root, 'add', 'queue URLs', [
      'archivebox-ts add https://example.com',
      'archivebox-ts add --run --depth 1 --max-urls 50 https://example.com',
      'archivebox-ts add --tag news,daily --file bookmarks.html',
      'cat urls.txt | archivebox-ts add --dry-run',
    ]),
  )
    .argument('[url...]', 'http or https, which may be left out; none: from stdin')
    .option('--file <file>', 'read a list from a file: text, bookmarks, a feed, a browser history, ...; - is stdin')
    .addOption(
      new Option('--parser <format>', 'what the list is')
        .choices(['auto', ...FORMATS])
        .default('auto', 'found out from what is in it'),
    )
    .option('--from-archivebox <dir>', 'take over a collection of ArchiveBox 0.7 to 0.9, files included')
    .option('--link', 'with it: hard links instead of copies, which change with what is changed there')
    .option('--again', 'also what is archived already, from its server even when unchanged')
    .option('--run', 'archive now: be the runner if there is none, and follow the crawl to its end')
    .option('--wait', 'follow the crawl to its end; somebody else runs it')
    .option('--index-only', 'list the pages without archiving them; crawl resume does that later')
    .option('--dry-run', 'only say what would be added')
    .option('--demo', 'a small site that this program serves on loopback for the purpose')
    .action(async (urls: string[], options: AddOptions) => {
      const given = await asked(true)
      const { add } = await import('../commands/add.ts')
      return await add(given, urls, options)
    })
}
