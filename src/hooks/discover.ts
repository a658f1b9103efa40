import { statSync } from 'node:fs'
import { join } from 'node:path'
import { PLUGIN_SETTINGS, readSetting, type Texts, timeoutOf } from '../base/config.ts'
import type { Kind } from '../base/kinds.ts'
import type { Makes } from '../base/makes.ts'
import { asset } from '../base/package-root.ts'
import { type Declared, withTimeout } from './declared.ts'
import { type Manifest, manifestOf } from './manifest.ts'
import { type PluginFolder, pluginFolders } from './plugin-folders.ts'
import { readDeclared } from './resolved.ts'
import { speaksUpstream } from './shebang.ts'
import { meaningOf, saidBy } from './upstream/meanings.ts'
import { pythonNeeds } from './upstream/required-binaries.ts'

export type HookEvent = 'CrawlSetup' | 'Snapshot' | 'BinaryRequest' | 'Install'

/** One executable of a plugin, with what its plugin declares for all of them. */
export interface Hook
  extends Pick<Manifest, 'readsPublished' | 'needsFile' | 'awaitsBackground' | 'requires' | 'binaries'>,
    Pick<Makes, 'asksOnly' | 'file' | 'hashes'> {
  readonly plugin: string
  /** The file name, which orders hooks across plugins and names their results. */
  readonly name: string
  readonly path: string
  readonly background: boolean
  /** Its plugin was requested by name. */
  readonly isNamed: boolean
  /** One of our own foreground hooks: it runs in the warm host instead of its own Node process. */
  readonly hosted: boolean
  readonly timeoutMs: number
  /** The least time that it gets to end after SIGTERM, as a background hook. */
  readonly graceMs: number
  /** It promises to print an ArchiveResult; without one it has failed. */
  readonly mustReport: boolean
  /** The settings that it may read: those of its plugin, and of all plugins that this requires. */
  readonly declares: readonly Declared[]
  /** Its plugin declares no settings: it may read all with this prefix, `<PLUGIN>_`. */
  readonly prefix: string | undefined
  /** Its plugin tree. */
  readonly tree: string
  /** What the plugins around it declare that they make, as JSON. */
  readonly around: string
}

/** A folder of hooks. */
export interface Plugin extends Manifest, Pick<PluginFolder, 'broken'> {
  readonly name: string
  readonly folder: string
  readonly tree: string
  readonly builtIn: boolean
  readonly hooks: readonly string[]
  /** Those of its hooks that are written for ArchiveBox's own runner. */
  readonly upstream: readonly string[]
  /** What it makes. */
  readonly meaning: Makes
}

export type HookSettings = Texts

const HOOK_NAME = /^on_(CrawlSetup|Snapshot|BinaryRequest|Install)__.+\.(js|py|sh)$/
/** The time that ArchiveBox allows for an installation. */
const INSTALL_SECONDS = 600

/** The plugin trees; later ones win by plugin name: built in, ABX_PLUGINS_DIR (path-separated), the data dir's own. */
export function pluginTrees(dataDir: string, settings: HookSettings): string[] {
  return [asset('plugins', 'plugins'), ...readSetting('ABX_PLUGINS_DIR', settings), join(dataDir, 'plugins')]
}

/** The last result, and the state of the folders then. */
let found: { readonly trees: string; readonly stamp: string; readonly plugins: Plugin[] } | undefined

/**
 * All plugins in these trees. They are read once, and again when a folder or a config.json of a user has changed. Of
 * our own plugins only the folder that contains them is checked: an upgrade replaces it, and otherwise each page would
 * check some seventy folders.
 */
export function findPlugins(trees: readonly string[]): Plugin[] {
  const key = trees.join('\0')
  if (found?.trees === key && found.stamp === stampOf(trees, found.plugins)) return found.plugins
  const plugins = readPlugins(trees)
  found = { trees: key, stamp: stampOf(trees, plugins), plugins }
  return plugins
}

function stampOf(trees: readonly string[], plugins: readonly Plugin[]): string {
  const theirs = plugins.filter(({ builtIn }) => !builtIn)
  const paths = [...trees, ...theirs.flatMap(({ folder }) => [folder, join(folder, 'config.json')])]
  return paths.map(lookOf).join()
}

/** A stamp that changes when a folder gets an entry or a file is written; '' when it cannot be read. */
function lookOf(path: string): string {
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats ? `${stats.ino} ${stats.ctimeMs}` : ''
  } catch {
    return ''
  }
}

function readPlugins(trees: readonly string[]): Plugin[] {
  const plugins = new Map<string, Plugin>()
  const browsers = new Set<string>()
  for (const [index, tree] of trees.entries()) {
    const builtIn = index === 0
    for (const { name, files, config, broken } of pluginFolders(tree, builtIn)) {
      const folder = join(tree, name)
      const hooks = files.filter((file) => HOOK_NAME.test(file))
      const said = manifestOf(config)
      const binaries = [...said.binaries, ...pythonNeeds(tree, hooks)]
      const upstream = builtIn ? [] : hooks.filter((hook) => speaksUpstream(join(folder, hook)))
      const declares = withTimeout(said.declares, `${prefixOf(name)}TIMEOUT`)
      // A plugin that replaces another makes what that one made, unless it declares otherwise.
      const makes = said.makes ?? plugins.get(name)?.makes
      const meaning = meaningOf({ name, makes })
      if (builtIn && meaning.browser) browsers.add(name)
      const more = { makes, binaries, declares, hooks, upstream, meaning, ...(broken !== undefined && { broken }) }
      plugins.set(name, { name, folder, tree, builtIn, ...said, ...more })
    }
  }
  // Built-in plugins that capture what our browser shows do so in its one visit of the page. Where a plugin of a user
  // takes its place, they would visit the page once more, in a browser of their own: they are left out.
  const isStranded = ({ builtIn, requires }: Plugin) =>
    builtIn && requires.some((name) => browsers.has(name) && !plugins.get(name)!.builtIn)
  return [...plugins.values()].filter((plugin) => !isStranded(plugin))
}

/**
 * The enabled hooks of one event in the order in which they run: by file name across all plugins.
 * @param only plugin names; the plugins that they require are added. Undefined: all
 * @param url leaves out plugins that do not apply to it, unless `only` names them. Undefined: none
 */
export function selectHooks(
  plugins: readonly Plugin[],
  event: HookEvent,
  settings: HookSettings,
  only?: readonly string[],
  url?: string,
): Hook[] {
  const byName = new Map(plugins.map((plugin) => [plugin.name, plugin]))
  const wanted = only && closure(byName, only)
  const graceMs = readSetting('BACKGROUND_GRACE', settings) * 1000
  const around = JSON.stringify(Object.fromEntries(plugins.map((plugin) => [plugin.name, saidBy(plugin)])))
  const hooks: Hook[] = []
  for (const plugin of plugins) {
    const names = plugin.hooks.filter((name) => name.startsWith(`on_${event}__`))
    if (names.length === 0 || (wanted && !wanted.has(plugin.name)) || !isEnabled(plugin, settings)) continue
    if (url !== undefined && plugin.urls?.test(url) === false && !only?.includes(plugin.name)) continue
    const declares = [...closure(byName, [plugin.name])].flatMap((name) => byName.get(name)?.declares ?? [])
    const prefix = prefixOf(plugin.name)
    const installs = event === 'BinaryRequest' || event === 'Install'
    const own = readDeclared(declares, `${prefix}TIMEOUT`, settings, POSITIVE_SECONDS)
    const timeoutMs = timeoutOf(own, settings, installs ? INSTALL_SECONDS : undefined) * 1000
    const { requires, binaries, readsPublished, needsFile, awaitsBackground, tree } = plugin
    const { asksOnly, file, hashes } = plugin.meaning
    for (const name of names) {
      const background = name.split('.').includes('bg')
      hooks.push({
        plugin: plugin.name,
        name,
        path: join(plugin.folder, name),
        background,
        isNamed: only?.includes(plugin.name) ?? false,
        hosted: plugin.builtIn && !background && readSetting('HOOK_HOST', settings),
        mustReport: plugin.upstream.includes(name),
        ...{ asksOnly, file, ...(hashes !== undefined && { hashes }) },
        prefix: plugin.declares.length === 0 ? prefix : undefined,
        ...{ timeoutMs, graceMs, requires, binaries, readsPublished, needsFile, awaitsBackground, declares },
        ...{ tree, around },
      })
    }
  }
  return hooks.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

/** The prefix of a plugin's settings. */
export function prefixOf(plugin: string): string {
  return `${plugin.toUpperCase()}_`
}

/** Our name for plugins, in ABX_RUNTIME. */
export const RUNTIME = 'archivebox'

/** 0 counts as not set. */
const POSITIVE_SECONDS: Kind<number> = {
  ...PLUGIN_SETTINGS.TIMEOUT.kind,
  read: (given) => PLUGIN_SETTINGS.TIMEOUT.kind.read(given) || undefined,
}

/** Whether a plugin is enabled, and made for us. */
export function isEnabled(plugin: Plugin, settings: HookSettings): boolean {
  if (plugin.runtimes.length > 0 && !plugin.runtimes.includes(RUNTIME)) return false
  return turned(plugin, settings) ?? PLUGIN_SETTINGS.ENABLED.standard
}

/** Whether a setting, or its default, enables a plugin. One without a default may be enabled for some pages only. */
export const isTurnedOn = (plugin: Plugin, settings: HookSettings): boolean => turned(plugin, settings) === true

/** The value of a plugin's own switch, or its default; undefined: there is neither. */
const turned = ({ name, declares }: Plugin, settings: HookSettings) =>
  readDeclared(declares, `${prefixOf(name)}ENABLED`, settings, PLUGIN_SETTINGS.ENABLED.kind)

/** Plugins and all that they require. */
function closure(plugins: ReadonlyMap<string, Plugin>, names: readonly string[]): Set<string> {
  const wanted = new Set(names)
  for (const name of wanted) for (const required of plugins.get(name)?.requires ?? []) wanted.add(required)
  return wanted
}
