import type { Settings } from '../../base/config.ts'
import { isExecutable } from '../../base/find-program.ts'
import { whyNotMakes } from '../../base/makes.ts'
import { quietMs } from '../../base/quiet-ms.ts'
import { becomeHookAccount } from '../../hooks/account.ts'
import { type HookEvent, type HookSettings, isEnabled, type Plugin, selectHooks } from '../../hooks/discover.ts'
import { lackingPlugins } from '../../hooks/required-plugins.ts'
import type { Becoming } from '../../hooks/upstream/ask-program.ts'
import { type Answered, askVersion, firstUsable, isOlder, notFound, tooOld } from '../../hooks/upstream/look-up.ts'
import { needed } from '../../hooks/upstream/required-binaries.ts'
import {
  type Found,
  isSearchable,
  mayBeModule,
  providersOf,
  searchFiles,
  type Wanted,
} from '../../hooks/upstream/search.ts'
import { searchByAsking } from '../../hooks/upstream/search-by-asking.ts'
import { isSparedByBrowser } from '../browser-here.ts'

/** A person waits. */
const VERSION_MS = 1_000
const EVENTS: readonly HookEvent[] = ['CrawlSetup', 'Snapshot', 'Install', 'BinaryRequest']

/** A plugin as users and programs see it. */
export type PluginRecord = Awaited<ReturnType<typeof pluginRecord>>

/**
 * The record of one plugin, with what it lacks on this machine.
 * @param all every plugin that is here
 * @param asking how programs are examined
 */
export async function pluginRecord(plugin: Plugin, all: readonly Plugin[], settings: HookSettings, asking: Asking) {
  const { name, folder, builtIn, means, mimetypes, requires, declares } = plugin
  const wrong = [plugin.broken, whyNotMakes(plugin.makes)]
  // Its hooks as they would run if it were enabled.
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
    plugin.binaries.map(async (binary) => {
      const wanted = { binary, name: needed(binary, settings).name, plugin: name, tree: plugin.tree }
      const found = await program(wanted, settings, asking)
      return isSparedByBrowser(binary, plugin, all, settings) ? { ...found, lacks: undefined } : found
    }),
  )
  const lacking = lackingPlugins(all, settings, new Map()).get(name)
  return {
    type: 'Plugin',
    name,
    enabled: isEnabled(plugin, settings),
    built_in: builtIn,
    folder,
    description: means,
    makes: mimetypes,
    hooks,
    needs: { plugins: requires, programs: programs.map(({ lacks: _, ...rest }) => rest) },
    lacks: [lacking, ...wrong, ...programs.map(({ lacks }) => lacks)].filter((why) => why !== undefined),
    settings: declares.map((setting) => setting.name),
  } as const
}

/** The setting that enables a plugin. */
export function enabledSetting(plugin: string): string {
  return `${plugin.toUpperCase()}_ENABLED`
}

/** How programs and modules are examined. */
export interface Asking {
  /** Starts a program, by its path. */
  look(path: string): Promise<Answered>
  /** Whether each is started, or only those of which a certain version is needed. */
  readonly isEach: boolean
  /** Finds a module that files alone do not tell of; undefined: nothing is asked, and it may exist. */
  readonly moduleOf: ((wanted: Wanted) => Promise<Found | undefined>) | undefined
}

/** Starts no program: outdated ones and missing modules go unnoticed. */
export const QUICKLY: Asking = { look: async () => ({ version: '' }), isEach: false, moduleOf: undefined }

/**
 * Starts each program once, however many plugins need it.
 * @param become the account that hooks run as, if not ours
 */
export function askingOnce(settings: HookSettings, become?: Becoming): Asking {
  const looks = new Map<string, Promise<Answered>>()
  const modules = new Map<string, Promise<Found | undefined>>()
  const env = { PATH: settings['PATH'] ?? '', HOME: settings['HOME'] ?? '' }
  const as = () => ({ env, become, withinMs: quietMs(VERSION_MS) })
  return {
    look: (path) => once(looks, path, () => askVersion(path, as())),
    isEach: become !== undefined,
    moduleOf: (wanted) => once(modules, `${wanted.tree} ${wanted.name}`, () => searchByAsking(wanted, settings, as())),
  }
}

/** The same, as hooks would start them. */
export async function askingAsHooks(dataDir: string, settings: Settings, texts: HookSettings): Promise<Asking> {
  return askingOnce(texts, await becomeHookAccount(dataDir, settings))
}

function once<T>(known: Map<string, Promise<T>>, key: string, ask: () => Promise<T>): Promise<T> {
  const asked = known.get(key) ?? ask()
  known.set(key, asked)
  return asked
}

async function program(wanted: Wanted, settings: HookSettings, { look, isEach, moduleOf }: Asking) {
  const { name, binary } = wanted
  const { minVersion } = binary
  const file = await firstUsable(
    async (unusable) => searchFiles(wanted, settings, unusable),
    async ({ abspath, version }) =>
      version === undefined && isExecutable(abspath) && (isEach || minVersion !== '')
        ? await look(abspath)
        : { version: version ?? '' },
  )
  const asksModule = file === undefined && mayBeModule(wanted)
  const found = asksModule ? await moduleOf?.(wanted).catch(() => 'unknown' as const) : file
  if (found === 'unknown') return { name, path: null, min_version: minVersion || null, lacks: undefined }
  const old = found && isOlder(found.version ?? '', minVersion) ? tooOld(name, found.version!, minVersion) : undefined
  const isUnknown =
    (asksModule && moduleOf === undefined) || !providersOf(binary.binproviders).every((one) => isSearchable(one))
  return {
    name,
    path: found?.abspath ?? null,
    min_version: minVersion || null,
    lacks: found === undefined && !isUnknown ? notFound(wanted) : (file?.whyNot ?? old),
  }
}
