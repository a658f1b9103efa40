import { askingAsHooks, enabledSetting, type PluginRecord, pluginRecord } from '../../app/plugins/plugin-record.ts'
import { setSettings } from '../../app/settings/set-settings.ts'
import { oneLine } from '../../base/clean.ts'
import { openDataDir } from '../../base/data-dir.ts'
import { UsageError } from '../../base/errors.ts'
import { closest } from '../../base/near-miss.ts'
import { crawlSettings } from '../../hooks/crawl-settings.ts'
import type { Plugin } from '../../hooks/discover.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import { type PrintOptions, printerOf } from '../records/print.ts'
import { onStdout } from '../screen/palette.ts'
import type { Column } from '../screen/table.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `plugin list`: every plugin in the order they run: whether it is enabled, what it makes, needs and lacks. */
export async function pluginList(asked: Asked, verb: PrintOptions & { lacking?: boolean }): Promise<void> {
  const printer = printerOf(asked, { columns: COLUMNS, idField: 'name' }, verb)
  const { dataDir, plugins, texts } = here(asked)
  const asking = await askingAsHooks(dataDir, asked.settings, texts)
  const records = await Promise.all(plugins.map((plugin) => pluginRecord(plugin, plugins, texts, asking)))
  const first = ({ hooks }: PluginRecord) => hooks[0]?.name.replace(/^on_\w+?__/, '') ?? ''
  const order = (record: PluginRecord) => `${record.hooks[0]?.event === 'CrawlSetup' ? 0 : 1}${first(record)}`
  const shown = records
    .filter(({ lacks }) => !verb.lacking || lacks.length > 0)
    .sort((a, b) => (order(a) < order(b) ? -1 : 1))
  await printer.list(shown, 'every plugin has what it needs')
}

/** `plugin show NAME...`: everything about each. */
export async function pluginShow(asked: Asked, names: readonly string[]): Promise<void> {
  const { dataDir, plugins, texts } = here(asked)
  const asking = await askingAsHooks(dataDir, asked.settings, texts)
  for (const plugin of named(plugins, names)) {
    const record = await pluginRecord(plugin, plugins, texts, asking)
    if (wantsJson(asked)) printRecord(record)
    else process.stdout.write(inFull(record))
  }
}

/** `plugin enable|disable NAME...`: turns them on or off for all crawls, in archivebox.toml. */
export async function pluginSwitch(asked: Asked, names: readonly string[], on: boolean): Promise<void> {
  const { plugins } = here(asked)
  const keys = named(plugins, names).map(({ name }) => enabledSetting(name))
  await setSettings(asked, new Map(keys.map((key) => [key, on])), { tell: sayMeanwhile })
  terminal.say(`${names.join(', ')} turned ${on ? 'on' : 'off'}; takes effect when a runner starts`)
}

/** The data dir's plugins, and the settings that they get. */
export function here(asked: Asked) {
  const dataDir = openDataDir(asked.dataDir, 'never')
  asked.problems.refuse()
  return { dataDir, ...crawlSettings(dataDir, asked.settings) }
}

/** The plugins of these names. Throws UsageError when there is none. */
export function named(plugins: readonly Plugin[], names: readonly string[]): Plugin[] {
  return names.map((name) => {
    const found = plugins.find((plugin) => plugin.name === name)
    if (found) return found
    const meant = closest(
      name,
      plugins.map((plugin) => plugin.name),
    )
    throw new UsageError(
      `there is no plugin ${name}${meant === undefined ? '' : `: did you mean ${meant}?`}`,
      'archivebox-ts plugin list shows all of them',
    )
  })
}

const eventOf = ({ event, name, background }: PluginRecord['hooks'][number]) =>
  `${/^on_\w+?__(\d+)/.exec(name)?.[1] ?? ''} ${event}${background ? ' (background)' : ''}`.trim()

const COLUMNS: readonly Column<PluginRecord>[] = [
  { name: 'plugin', value: ({ name }) => oneLine(name) },
  {
    name: 'on',
    value: ({ enabled }) => (enabled ? 'yes' : 'no'),
    style: ({ enabled }, palette) => (enabled ? String : palette.dim),
  },
  { name: 'hooks', value: ({ hooks }) => hooks.map(eventOf).join(', '), cut: 'end', rank: 5 },
  { name: 'makes', value: ({ description }) => oneLine(description), cut: 'end', rank: 2 },
  { name: 'needs', value: needsOf, optional: true, cut: 'end', rank: 4 },
  {
    name: 'lacks',
    value: ({ lacks }) => oneLine(lacks.join('; ')),
    optional: true,
    cut: 'end',
    rank: 1,
    style: (_, palette) => palette.yellow,
  },
]

function needsOf({ needs: { plugins, programs } }: PluginRecord): string {
  return oneLine([...plugins, ...programs.map(({ name }) => name)].join(', '))
}

function inFull(record: PluginRecord): string {
  const { name, enabled, folder, description, makes, hooks, needs, lacks, settings } = record
  const rows: readonly (readonly [string, string])[] = [
    ['plugin', `${name} (turned ${enabled ? 'on' : 'off'}${record.built_in ? ', built in' : ''})`],
    ['about', description],
    ['folder', folder],
    ...hooks.map((hook) => ['hook', `${hook.name} (${hook.event}, at most ${hook.timeout} s)`] as const),
    ['makes', makes.join(', ')],
    ...needs.plugins.map((plugin) => ['needs', `plugin ${plugin}`] as const),
    ...needs.programs.map((each) => ['needs', `${each.name}: ${each.path ?? 'not found'}`] as const),
    ...lacks.map((lack) => ['lacks', lack] as const),
    ...settings.map((setting) => ['setting', setting] as const),
  ]
  const told = rows.filter(([, text]) => text !== '')
  const isRepeated = (at: number) => at > 0 && told[at]![0] === told[at - 1]![0]
  const lines = told.map(([key, text], at) => `${onStdout.dim((isRepeated(at) ? '' : key).padEnd(8))} ${oneLine(text)}`)
  return `${lines.join('\n')}\n`
}
