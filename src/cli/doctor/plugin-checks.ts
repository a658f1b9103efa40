import type { Texts } from '../../base/config.ts'
import { findProgram } from '../../base/find-program.ts'
import { crawlSettings } from '../../hooks/crawl-settings.ts'
import { isEnabled, type Plugin } from '../../hooks/discover.ts'
import { installCommand, versionOf } from '../../hooks/look-up.ts'
import { needed } from '../../hooks/required-binaries.ts'
import { pluginRecord } from '../plugin-record.ts'
import type { Asked } from '../settings.ts'
import { type Check, type Finding, green, yellow } from './check.ts'

/** A program that takes longer to say its version is there all the same. */
const VERSION_MS = 1_000

/** Programs that plugins are known to use, by the names that they have, and what installs them. */
const PROGRAMS: readonly { readonly name: string; readonly also?: readonly string[]; readonly package: string }[] = [
  {
    name: 'browser',
    also: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'],
    package: 'chromium',
  },
  { name: 'wget', package: 'wget' },
  { name: 'git', package: 'git' },
  { name: 'python', also: ['python3'], package: 'python3' },
  { name: 'yt-dlp', package: 'yt-dlp' },
]

/** Each program with its version, which means starting it. */
export const PROGRAM_VERSION_CHECKS: readonly Check[] = PROGRAMS.map((program) => ({
  name: program.name,
  look: async (asked) => {
    const { plugins, texts } = crawlSettings(asked.dataDir, asked.settings)
    const names = [
      ...(program.name === 'browser' && texts['CHROME_BINARY'] ? [texts['CHROME_BINARY']] : []),
      ...(program.also ?? [program.name]),
    ]
    const path = names.map((name) => findProgram(name, texts['PATH'])).find((found) => found !== undefined)
    if (path !== undefined) return green(`${await versionOf(path, environment(texts), VERSION_MS)} (${path})`.trim())
    const users = plugins.filter((plugin) => isEnabled(plugin.name, texts) && uses(plugin, names, texts))
    if (users.length === 0) return green('not found; no plugin here needs it')
    return yellow(
      `not found: ${users.map(({ name }) => name).join(', ')} cannot do without`,
      installCommand(program.package, '*'),
    )
  },
}))

function uses(plugin: Plugin, names: readonly string[], texts: Texts): boolean {
  if (names.includes('python3') && plugin.hooks.some((hook) => hook.endsWith('.py'))) return true
  return plugin.binaries.some((binary) => names.includes(needed(binary, texts).name))
}

/** All plugins at once: those that lack something here. */
export const PLUGINS_CHECK: Check = { name: 'plugins', look: plugins }

async function plugins(asked: Asked): Promise<Finding> {
  const { plugins, texts } = crawlSettings(asked.dataDir, asked.settings)
  const on = plugins.filter(({ name }) => isEnabled(name, texts))
  const records = await Promise.all(on.map((plugin) => pluginRecord(plugin, plugins, texts)))
  const lacking = records.filter(({ lacks }) => lacks.length > 0)
  if (lacking.length === 0) return green(`${on.length} are on, and have what they need`)
  const [first] = lacking
  if (lacking.length === 1 && first!.lacks.length === 1) {
    const [, message = '', command] = /^(.*?)(?:: (.*))?$/.exec(first!.lacks[0]!) ?? []
    return yellow(`${first!.name}: ${message}`, command)
  }
  return yellow(`${lacking.map(({ name }) => name).join(', ')} lack something`, 'archivebox-ts plugin list --lacking')
}

function environment(texts: Texts): Record<string, string> {
  return { PATH: texts['PATH'] ?? '', HOME: texts['HOME'] ?? '' }
}
