import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { findProgram } from '../base/find-program.ts'
import { type HookSettings, isEnabled, isTurnedOn, type Plugin } from '../hooks/discover.ts'
import { needed, type RequiredBinary } from '../hooks/upstream/required-binaries.ts'

/** The packaged browser, which plugins use unless CHROME_BINARY names another. */
export const PACKAGED_BROWSER = '@sparticuz/chromium'

/** The version of the packaged browser, and the folder of its package; undefined when it is not installed. */
export function packagedBrowser(): { readonly version: string; readonly root: string } | undefined {
  try {
    const root = dirname(dirname(createRequire(import.meta.url).resolve(PACKAGED_BROWSER)))
    const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { version: string }
    return { version, root }
  } catch {
    return undefined
  }
}

/** Whether the browser's captures do what this program would do for its plugin, so that it is not missed. */
export function isSparedByBrowser(
  { neededBy }: RequiredBinary,
  plugin: Plugin,
  all: readonly Plugin[],
  settings: HookSettings,
): boolean {
  return neededBy === 'pages without a browser' && !isTurnedOn(plugin, settings) && hasBrowser(all, settings)
}

/** The programs that are not missed here: a browser does what each enabled plugin would do with them. */
export function sparedPrograms(all: readonly Plugin[], settings: HookSettings): ReadonlySet<string> {
  const spared = new Set<string>()
  const missed = new Set<string>()
  for (const plugin of all.filter((each) => isEnabled(each, settings)))
    for (const binary of plugin.binaries)
      (isSparedByBrowser(binary, plugin, all, settings) ? spared : missed).add(needed(binary, settings).name)
  return new Set([...spared].filter((name) => !missed.has(name)))
}

function hasBrowser(plugins: readonly Plugin[], settings: HookSettings): boolean {
  if (!plugins.some((plugin) => plugin.meaning.browser && isEnabled(plugin, settings))) return false
  const given = settings['CHROME_BINARY']?.trim()
  return given ? findProgram(given, settings['PATH']) !== undefined : packagedBrowser() !== undefined
}
