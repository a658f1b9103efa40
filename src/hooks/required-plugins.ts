import { type HookSettings, isEnabled, type Plugin } from './discover.ts'

/** Code that plugins share, not a plugin. */
const SHARED = 'base'

/**
 * The plugins whose hooks would wait in vain, because a plugin that they require is missing, disabled, or cannot run
 * itself; each with the reason, which names that plugin. A circle of requirements does not keep plugins from running.
 * @param unable plugins that cannot run for other reasons
 */
export function lackingPlugins(
  plugins: readonly Plugin[],
  settings: HookSettings,
  unable: ReadonlyMap<string, string>,
): Map<string, string> {
  const lacking = new Map<string, string>()
  const known = new Map(plugins.map((plugin) => [plugin.name, plugin]))
  const why = (required: string): string | undefined => {
    const plugin = known.get(required)
    if (!plugin) return required === SHARED ? undefined : 'is not installed'
    if (!isEnabled(plugin, settings)) return 'is off'
    const own = unable.get(required)
    return own === undefined ? lacking.get(required) : `cannot run: ${own}`
  }
  // Until a round finds no more: a plugin may require one that comes later.
  for (let grew = true; grew; ) {
    grew = false
    for (const { name, requires } of plugins) {
      if (lacking.has(name) || unable.has(name)) continue
      const lost = requires.find((required) => required !== name && why(required) !== undefined)
      if (lost === undefined) continue
      lacking.set(name, `needs ${lost}, which ${why(lost)}`)
      grew = true
    }
  }
  return lacking
}
