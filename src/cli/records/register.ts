import { type Command, Option } from 'commander'
import type { TagOptions } from '../commands/snapshot.ts'
import type { GlobalOptions } from '../options.ts'
import type { Asked } from '../settings.ts'
import { collect, type Verb, verb } from '../verb.ts'
import type { RetryOptions } from './change.ts'
import type { ListOptions } from './list.ts'
import { listOptions } from './list-options.ts'
import type { RemoveOptions } from './remove.ts'

const IDS =
  'a full id, or at least 6 of its first or last digits; none or -: read from stdin, as records or one per line'

/**
 * `crawl`, `snapshot` and `result`: the same verbs, as far as they make sense. Their code is loaded when they are
 * called.
 */
export function registerRecordVerbs(
  root: Command,
  globals: () => Promise<GlobalOptions>,
  asked: () => Promise<Asked>,
): void {
  const crawl = async () => (await import('../commands/crawl.ts')).crawlVerbs
  const snapshot = async () => (await import('../commands/snapshot.ts')).snapshotVerbs
  const result = async () => (await import('../commands/result.ts')).resultVerbs

  const crawls = verb(root, 'crawl', 'crawls: what was added, and its progress')
  limitOptions(
    verb(crawls, 'create', 'queue a crawl; like add, for pipelines', [
      'archivebox-ts crawl create --depth 1 --max-urls 20 https://example.com',
    ]),
  )
    .argument('[url...]', 'without URLs: read from stdin, one per line, or as records')
    .action(async (urls, options) => (await crawl()).create(await asked(), urls, options))
  registerReading(crawls, crawl, globals)
  registerSteering(crawls, crawl, globals)

  const snapshots = verb(root, 'snapshot', 'snapshots: the pages of crawls')
  verb(snapshots, 'create', 'queue pages, in a new crawl or in an existing one', [
    'archivebox-ts snapshot create --tag news https://example.com',
    'archivebox-ts snapshot create -c TIMEOUT=120 https://example.com/slow',
  ])
    .argument('[url...]', 'without URLs: read from stdin, one per line, or as records')
    .option('--crawl-id <id>', 'add them to this crawl')
    .option('--tag <names>', 'tags for them, comma-separated')
    .addOption(settingOption('a setting for these pages only (repeatable)'))
    .action(async (urls, options) => (await snapshot()).create(await asked(), urls, options))
  verb(snapshots, 'tag', 'add tags to pages, or remove them', [
    'archivebox-ts snapshot tag 9c41d2e7 --add news,daily --remove later',
    'archivebox-ts snapshot list --host example.com | archivebox-ts snapshot tag --add example -',
  ])
    .argument('[id...]', IDS)
    .option('--add <names>', 'tags to add, comma-separated')
    .option('--remove <names>', 'tags to remove, comma-separated')
    .action(async (ids: string[], options: TagOptions) => (await snapshot()).tag(await globals(), ids, options))
  registerReading(snapshots, snapshot, globals)
  registerSteering(snapshots, snapshot, globals)

  const results = verb(root, 'result', 'results: what hooks made of pages, one per attempt')
  registerReading(results, result, globals)
  for (const [name, from] of [
    ['pause', 'started'],
    ['resume', 'paused'],
    ['cancel', 'started'],
  ] as const)
    verb(results, name, `not for single results: use snapshot ${name} on their page`, [
      `archivebox-ts snapshot list --status ${from} | archivebox-ts snapshot ${name} -`,
    ])
      .argument('[id...]', IDS)
      .action(async (ids: string[]) => (await import('../commands/result.ts')).refuseAlone(await globals(), name, ids))
}

/** The options that limit and configure a crawl. */
export function limitOptions(command: Verb): Verb {
  return command
    .option('--depth <n>', 'how many links away from the given pages to go, 0 to 4 (default: 0)')
    .option('--tag <names>', 'tags for every page, comma-separated')
    .option('--label <text>', 'a name for this crawl')
    .option('--plugins <names>', 'only these plugins, comma-separated')
    .option('--persona <persona>', 'visit pages with the cookies, headers and settings of this persona')
    .option('--max-urls <n>', 'archive at most this many pages; 0: no limit')
    .option('--max-size <size>', 'start no more pages once the finished ones take this much, such as 50mb; 0: no limit')
    .option('--url-allowlist <patterns>', 'only URLs that match one: domains or regular expressions, comma-separated')
    .option('--url-denylist <patterns>', 'no URL that matches one')
    .addOption(settingOption('a setting for this crawl (repeatable)'))
}

function settingOption(means: string): Option {
  return new Option('-c, --config <KEY=VALUE>', means).argParser(collect).default([], 'none')
}

type Reading = typeof import('../commands/result.ts').resultVerbs

/** The options that filter rows. */
export function filterOptions(command: Verb, noun: string): Verb {
  return command
    .option('--status <names>', 'only those with these statuses, comma-separated')
    .option(
      '--outcome <names>',
      `only ${noun === 'snapshot' ? 'pages' : 'with pages'} of these outcomes, comma-separated`,
    )
    .option('--url__icontains <text>', 'only those whose URL contains this text, ignoring case')
    .option('--host <name>', 'only of this host; write the full name, with the port if the URL has one')
    .option('--crawl-id <id>', 'only of this crawl')
    .option('--snapshot-id <id>', 'only of this snapshot')
    .option('--plugin <names>', 'only with results of these plugins, comma-separated')
    .option('--tag <names>', 'only with one of these tags, comma-separated')
    .option(
      '--after <when>',
      'only what was added at this time or later: 2026-11-01, 2026-11-01T08:30 (UTC), or an age: 7d',
    )
    .option('--before <when>', 'only what was added before this time')
}

function registerReading(group: Command, load: () => Promise<Reading>, globals: () => Promise<GlobalOptions>): void {
  const noun = group.name()
  const list = verb(group, 'list', `${noun}s, newest first`, [
    `archivebox-ts ${noun} list --status queued -n 20`,
    `archivebox-ts ${noun} list --url__icontains example.com --tag news --json`,
    `archivebox-ts ${noun} list --columns id,status,${noun === 'crawl' ? 'urls' : 'url'} -o csv`,
  ])
  listOptions(filterOptions(list, noun)).action(async (options: ListOptions) =>
    (await load()).list(await globals(), [], options),
  )
  verb(group, 'show', 'every field', [`archivebox-ts ${noun} show 9c41d2e7`])
    .argument('<id...>', 'a full id, or at least 6 of its first or last digits')
    .action(async (ids: string[], options: object) => (await load()).show(await globals(), ids, options))
  verb(group, 'retry', 'rerun hooks that failed, were skipped, or found nothing; earlier attempts are kept', [
    `archivebox-ts ${noun} list ${noun === 'result' ? '--status' : '--outcome'} failed | ` +
      `archivebox-ts ${noun} retry --failed -`,
  ])
    .argument('[id...]', IDS)
    .option('--failed', noun === 'result' ? 'only those that failed' : 'only of pages that failed, in whole or in part')
    .option('--plugin <names>', 'only of these plugins, comma-separated')
    .action(async (ids: string[], options: RetryOptions) => (await load()).retry(await globals(), ids, options))
  verb(group, 'delete', `delete ${noun}s, all that belongs to them, and their files, for good`, [
    `archivebox-ts ${noun} delete --dry-run 9c41d2e7`,
    `archivebox-ts ${noun} list --status ${noun === 'result' ? 'failed' : 'sealed'} -n 5 | ` +
      `archivebox-ts ${noun} delete --yes -`,
  ])
    .argument('[id...]', IDS)
    .option('--yes', 'do it: without this nothing is deleted')
    .option('--dry-run', 'only list them')
    .action(async (ids: string[], options: RemoveOptions) => (await load()).delete(await globals(), ids, options))
}

type Steering = Pick<typeof import('../commands/crawl.ts').crawlVerbs, 'pause' | 'resume' | 'cancel'>

function registerSteering(group: Command, load: () => Promise<Steering>, globals: () => Promise<GlobalOptions>): void {
  const noun = group.name()
  for (const [name, description] of [
    ['pause', `stop working on ${noun}s; what is done stays done`],
    ['resume', `go on with paused ${noun}s`],
    ['cancel', `seal ${noun}s with what they have`],
  ] as const) {
    verb(group, name, description, [`archivebox-ts ${noun} ${name} 9c41d2e7`])
      .argument('[id...]', IDS)
      .action(async (ids: string[], options: object) => (await load())[name](await globals(), ids, options))
  }
}
