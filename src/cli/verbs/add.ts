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
    .argument('[url...]', 'http or https; https:// may be omitted; without URLs: read from stdin')
    .option('--file <file>', 'read URLs from a file: text, bookmarks, a feed, a browser history, ...; - is stdin')
    .addOption(
      new Option('--parser <format>', 'the format of the list')
        .choices(['auto', ...FORMATS])
        .default('auto', 'detected from its content'),
    )
    .option('--from-archivebox <dir>', 'import a collection of ArchiveBox 0.7 to 0.9, with its files')
    .option('--link', 'with --from-archivebox: hard-link files instead of copying; both then share changes')
    .option('--again', 'archive again what is archived already; fetch it anew even when unchanged')
    .option('--run', 'archive now: become the runner if there is none, and follow the crawl to its end')
    .option('--wait', 'follow the crawl to its end while another runner works on it')
    .option('--index-only', 'list the pages without archiving them; archive them later with crawl resume')
    .option('--dry-run', 'only show what would be added')
    .option('--demo', 'archive a small built-in site, served on loopback')
    .action(async (urls: string[], options: AddOptions) => {
      const given = await asked(true)
      const { add } = await import('../commands/add.ts')
      return await add(given, urls, options)
    })
}
