import { findProgram } from '../base/find-program.ts'
import { type HookEvent, type HookSettings, isEnabled, type Plugin, selectHooks } from '../hooks/discover.ts'
import { isOlder, notFound, versionOf } from '../hooks/look-up.ts'
import { needed } from '../hooks/required-binaries.ts'
import { lackingPlugins } from '../hooks/required-plugins.ts'

/** A person waits. */
const VERSION_MS = 1_000
const EVENTS: readonly HookEvent[] = ['CrawlSetup', 'Snapshot', 'Install', 'BinaryRequest']

/** A plugin as people and programs see it. */
export type PluginRecord = Awaited<ReturnType<typeof pluginRecord>>

/**
 * The record of one plugin, with what it lacks on this machine.
 * @param all every plugin that is here
 * @param versionAt the version of a program, by its path; not asked for where any will do
 */
export async function pluginRecord(
  plugin: Plugin,
  all: readonly Plugin[],
  settings: HookSettings,
  versionAt: VersionAt = askingOnce(settings),
) {
  const { name, folder, builtIn, means, makes, requires, declares } = plugin
  // Its hooks as they would run, were it enabled.
  const whole = { ...settings, [enabledSetting(name)]: 'true' }
  const hooks = EVENTS.flatMap((event) =>
    selectHooks([plugin], event, whole).map((hook) => ({
      event,
      name: hook.name,
      background: hook.background,
      timeout: hook.timeoutMs / 1000,
    })),
  )
  const programs = await Promise.all(
    plugin.binaries.map((binary) => program(needed(binary, settings), settings, versionAt)),
  )
  const lacking = lackingPlugins(all, settings, new Map()).get(name)
  return {
    type: 'Plugin',
    name,
    enabled: isEnabled(name, settings),
    built_in: builtIn,
    folder,
    description: means,
    makes,
    hooks,
    needs: { plugins: requires, programs: programs.map(({ lacks: _, ...rest }) => rest) },
    lacks: [...(lacking === undefined ? [] : [lacking]), ...programs.flatMap(({ lacks }) => lacks ?? [])],
    settings: declares.map((setting) => setting.name),
  } as const
}

/** The setting that turns a plugin on and off. */
export function enabledSetting(plugin: string): string {
  return `${plugin.toUpperCase()}_ENABLED`
}

type VersionAt = (path: string) => string | Promise<string>

/** Versions by starting programs, each once, however many plugins need it. */
export function askingOnce(settings: HookSettings): VersionAt {
  const known = new Map<string, Promise<string>>()
  const env = { PATH: settings['PATH'] ?? '', HOME: settings['HOME'] ?? '' }
  return (path) => {
    const asked = known.get(path) ?? versionOf(path, env, VERSION_MS)
    known.set(path, asked)
    return asked
  }
}

async function program(binary: ReturnType<typeof needed>, settings: HookSettings, versionAt: VersionAt) {
  const { name, binproviders, minVersion } = binary
  const path = findProgram(name, settings['PATH'])
  const version = path !== undefined && minVersion !== '' ? await versionAt(path) : ''
  const old = isOlder(version, minVersion) ? `${name} ${version} is older than ${minVersion}` : undefined
  return {
    name,
    path: path ?? null,
    min_version: minVersion || null,
    lacks: path === undefined ? notFound(name, binproviders) : old,
  }
}
