import { type Command, Option } from 'commander'
import type { PluginRunOptions } from '../commands/plugin-run.ts'
import { listOptions } from '../records/list-options.ts'
import type { Asked } from '../settings.ts'
import { collect, verb } from '../verb.ts'

/** `plugin`: what hooks there are, and how to write one. */
export function registerPlugin(root: Command, asked: () => Promise<Asked>): void {
  const load = () => import('../commands/plugin.ts')
  const group = verb(root, 'plugin', 'plugins: what they make and need, trying one, writing one')
  const list = verb(group, 'list', 'all plugins, in the order in which they run', [
    'archivebox-ts plugin list',
    'archivebox-ts plugin list --lacking',
  ]).option('--lacking', 'only those that lack something on this machine')
  listOptions(list).action(async (options: object) => (await load()).pluginList(await asked(), options))
  verb(group, 'show', 'all about one', ['archivebox-ts plugin show wget'])
    .argument('<name...>')
    .action(async (names: string[]) => (await load()).pluginShow(await asked(), names))
  verb(group, 'run', 'run its hooks on a page by hand, in a folder of their own; nothing is archived', [
    'archivebox-ts plugin run headers https://example.com',
    'archivebox-ts plugin run --keep -c TITLE_TIMEOUT=5 title https://example.com',
  ])
    .argument('<name>')
    .argument('<url>')
    .option('--keep', 'keep that folder, and say where it is')
    .addOption(
      new Option('-c, --config <key=value>', 'a setting for it (repeatable)').argParser(collect).default([], 'none'),
    )
    .action(async (name: string, url: string, options: PluginRunOptions) =>
      (await import('../commands/plugin-run.ts')).pluginRun(await asked(), name, url, options),
    )
  verb(group, 'new', 'write one: a hook that works, its config.json and a test', [
    'archivebox-ts plugin new word_count',
    'archivebox-ts plugin new links --lang py',
  ])
    .argument('<new-name>')
    .addOption(new Option('--lang <language>', 'what to write it in').choices(['sh', 'js', 'py']).default('sh'))
    .action(async (name: string, options: { lang: 'sh' | 'js' | 'py' }) =>
      (await import('../commands/plugin-new.ts')).pluginNew(await asked(), name, options),
    )
  verb(group, 'install', 'install the modules that plugins lack, and name the programs that they lack', [
    'archivebox-ts plugin install',
    'archivebox-ts plugin install headers title',
    'archivebox-ts plugin install replay',
  ])
    .argument('[name...]', 'plugins, or replay: what shows WARC and WACZ in the server; none: all plugins that are on')
    .action(async (names: string[]) =>
      (await import('../commands/plugin-install.ts')).pluginInstall(await asked(), names),
    )
  for (const [name, on] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    verb(group, name, `turn plugins ${on ? 'on' : 'off'} for all crawls, in archivebox.toml`, [
      `archivebox-ts plugin ${name} wget`,
    ])
      .argument('<name...>')
      .action(async (names: string[]) => (await load()).pluginSwitch(await asked(), names, on))
}
