import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { PLUGIN_SETTINGS, readSetting, type Texts, timeoutOf } from '../base/config.ts'
import { asset } from '../base/package-root.ts'
import { type Declared, declaredSettings } from './declared.ts'
import { type RequiredBinary, requiredBinaries } from './required-binaries.ts'
import { speaksUpstream } from './shebang.ts'

export type HookEvent = 'CrawlSetup' | 'Snapshot' | 'BinaryRequest' | 'Install'

/** One executable of a plugin. */
export interface Hook {
  readonly plugin: string
  /** The file name, which orders hooks across plugins and names their results. */
  readonly name: string
  readonly path: string
  readonly background: boolean
  /** One of our own foreground hooks: it runs in the warm host instead of a Node process of its own. */
  readonly hosted: boolean
  /** It reads published files, not the work tree. */
  readonly readsPublished: boolean
  readonly timeoutMs: number
  /** The least time that it has to end after SIGTERM, as a background hook. */
  readonly graceMs: number
  /** It promises to print an ArchiveResult; without one it has failed. */
  readonly mustReport: boolean
  /** Plugins whose output it needs. */
  readonly requires: readonly string[]
  /** Programs that the plugin needs. */
  readonly binaries: readonly RequiredBinary[]
}

/** A folder of hooks. */
export interface Plugin {
  readonly name: string
  readonly folder: string
  readonly builtIn: boolean
  /** What config.json says about it, in words, and the MIME types, or beginnings of some, of what it makes. */
  readonly means: string
  readonly makes: readonly string[]
  readonly requires: readonly string[]
  readonly readsPublished: boolean
  readonly binaries: readonly RequiredBinary[]
  /** The settings that its config.json declares. */
  readonly declares: readonly Declared[]
  readonly hooks: readonly string[]
  /** Those of its hooks that are written for ArchiveBox's own runner. */
  readonly upstream: readonly string[]
}

export type HookSettings = Texts

const HOOK_NAME = /^on_(CrawlSetup|Snapshot|BinaryRequest|Install)__.+\.(js|py|sh)$/
/** The time that ArchiveBox allows for an installation. */
const INSTALL_SECONDS = 600

/** The plugin trees; later ones win by plugin name: built in, ABX_PLUGINS_DIR (path-separated), the data dir's own. */
export function pluginTrees(dataDir: string, settings: HookSettings): string[] {
  return [asset('plugins', 'plugins'), ...readSetting('ABX_PLUGINS_DIR', settings), join(dataDir, 'plugins')]
}

/** The last result, and how the folders looked then. */
let found: { readonly trees: string; readonly stamp: string; readonly plugins: Plugin[] } | undefined

/** All plugins in these trees. They are read once, and again when a folder or a config.json has changed. */
export function findPlugins(trees: readonly string[]): Plugin[] {
  const key = trees.join('\0')
  if (found?.trees === key && found.stamp === stampOf(trees, found.plugins)) return found.plugins
  const plugins = readPlugins(trees)
  found = { trees: key, stamp: stampOf(trees, plugins), plugins }
  return plugins
}

function stampOf(trees: readonly string[], plugins: readonly Plugin[]): string {
  const paths = [...trees, ...plugins.flatMap(({ folder }) => [folder, join(folder, 'config.json')])]
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
  for (const [index, tree] of trees.entries()) {
    for (const name of entriesOf(tree) ?? []) {
      if (/^[._]/.test(name) || name === 'base') continue
      const folder = join(tree, name)
      const hooks = entriesOf(folder)?.filter((file) => HOOK_NAME.test(file))
      if (!hooks) continue
      const builtIn = index === 0
      const upstream = builtIn ? [] : hooks.filter((hook) => speaksUpstream(join(folder, hook)))
      plugins.set(name, { name, folder, builtIn, ...requirements(folder), hooks, upstream })
    }
  }
  return [...plugins.values()]
}

/** The entries of a folder; undefined when there is none: a missing tree, a stray file, a dangling link. */
function entriesOf(folder: string): string[] | undefined {
  try {
    return readdirSync(folder)
  } catch {
    return undefined
  }
}

/**
 * The enabled hooks of one event in the order in which they run: by file name across all plugins.
 * @param only plugin names; the plugins that they require are added. Undefined: all
 */
export function selectHooks(
  plugins: readonly Plugin[],
  event: HookEvent,
  settings: HookSettings,
  only?: readonly string[],
): Hook[] {
  const wanted = only && closure(plugins, only)
  const graceMs = readSetting('BACKGROUND_GRACE', settings) * 1000
  const hooks: Hook[] = []
  for (const plugin of plugins) {
    if ((wanted && !wanted.has(plugin.name)) || !isEnabled(plugin.name, settings)) continue
    const installs = event === 'BinaryRequest' || event === 'Install'
    const timeoutMs = timeoutOf(plugin.name, settings, installs ? INSTALL_SECONDS : undefined) * 1000
    for (const name of plugin.hooks) {
      if (!name.startsWith(`on_${event}__`)) continue
      const background = name.split('.').includes('bg')
      const hosted = plugin.builtIn && !background && readSetting('HOOK_HOST', settings)
      hooks.push({
        plugin: plugin.name,
        name,
        path: join(plugin.folder, name),
        background,
        hosted,
        readsPublished: plugin.readsPublished,
        timeoutMs,
        graceMs,
        mustReport: plugin.upstream.includes(name),
        requires: plugin.requires,
        binaries: plugin.binaries,
      })
    }
  }
  return hooks.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

/** Is a plugin on? */
export function isEnabled(plugin: string, settings: HookSettings): boolean {
  const { kind, standard } = PLUGIN_SETTINGS.ENABLED
  const given = settings[`${plugin.toUpperCase()}_ENABLED`]
  return (given === undefined ? undefined : kind.read(given)) ?? standard
}

type Requirements = Pick<Plugin, 'means' | 'makes' | 'requires' | 'readsPublished' | 'binaries' | 'declares'>

function requirements(folder: string): Requirements {
  try {
    const config: unknown = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'))
    const { required_plugins: required, reads_published, ...about } = (config ?? {}) as Record<string, unknown>
    const { description, output_mimetypes: makes } = about
    return {
      means: typeof description === 'string' ? description : '',
      makes: Array.isArray(makes) ? makes.map(String) : [],
      readsPublished: reads_published === true,
      requires: Array.isArray(required) ? required.map(String) : [],
      binaries: requiredBinaries(config),
      declares: declaredSettings(config),
    }
  } catch {
    // config.json is optional; one that is not JSON counts as missing.
    return { means: '', makes: [], requires: [], readsPublished: false, binaries: [], declares: [] }
  }
}

function closure(plugins: readonly Plugin[], names: readonly string[]): Set<string> {
  const wanted = new Set(names)
  for (const name of wanted)
    for (const required of plugins.find((plugin) => plugin.name === name)?.requires ?? []) wanted.add(required)
  return wanted
}
