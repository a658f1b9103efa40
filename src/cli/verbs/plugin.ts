import { type Command, Option } from 'commander'
import type { PluginRunOptions } from '../commands/plugin-run.ts'
import { listOptions } from '../records/list-options.ts'
import type { Asked } from '../settings.ts'
import { collect, verb } from '../verb.ts'

/** `plugin`: lists, runs, installs and creates plugins. */
export function registerPlugin(root: Command, asked: () => Promise<Asked>): void {
  const load = () => import('../commands/plugin.ts')
  const group = verb(root, 'plugin', 'plugins: what they make and need, how to try one or write one')
  const list = verb(group, 'list', 'all plugins, in the order they run', [
    'archivebox-ts plugin list',
    'archivebox-ts plugin list --lacking',
  ]).option('--lacking', 'only plugins that lack something on this machine')
  listOptions(list).action(async (options: object) => (await load()).pluginList(await asked(), options))
  verb(group, 'show', 'everything about a plugin', ['archivebox-ts plugin show wget'])
    .argument('<name...>')
    .action(async (names: string[]) => (await load()).pluginShow(await asked(), names))
  verb(group, 'run', 'run the hooks of a plugin on a page, in a separate folder; nothing is archived', [
    'archivebox-ts plugin run headers https://example.com',
    'archivebox-ts plugin run --keep -c TITLE_TIMEOUT=5 title https://example.com',
  ])
    .argument('<name>')
    .argument('<url>')
    .option('--keep', 'keep that folder, and print its path')
    .addOption(
      new Option('-c, --config <key=value>', 'a setting to use (repeatable)').argParser(collect).default([], 'none'),
    )
    .action(async (name: string, url: string, options: PluginRunOptions) =>
      (await import('../commands/plugin-run.ts')).pluginRun(await asked(), name, url, options),
    )
  verb(group, 'new', 'create a plugin: a working hook, its config.json and a test', [
    'archivebox-ts plugin new word_count',
    'archivebox-ts plugin new links --lang py',
  ])
    .argument('<new-name>')
    .addOption(new Option('--lang <language>', 'the language of the hook').choices(['sh', 'js', 'py']).default('sh'))
    .action(async (name: string, options: { lang: 'sh' | 'js' | 'py' }) =>
      (await import('../commands/plugin-new.ts')).pluginNew(await asked(), name, options),
    )
  verb(group, 'install', 'install the modules that plugins lack, and list the programs that they lack', [
    'archivebox-ts plugin install',
    'archivebox-ts plugin install headers title',
    'archivebox-ts plugin install replay',
  ])
    .argument('[name...]', 'plugins, or replay, which shows WARC and WACZ in the server; none: all enabled plugins')
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
