import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readSetting, SETTINGS, type Setting, type Texts } from '../base/config.ts'
import { put } from '../base/own.ts'
import { personaFiles } from '../browse/persona/files.ts'
import { MARKER } from '../processes/marks.ts'
import { type Hook, type HookSettings, prefixOf, RUNTIME } from './discover.ts'
import { resolvedTexts } from './resolved.ts'
import { treeEnvironment } from './upstream/plugin-tree.ts'

/** What a hook works on. */
export interface HookTarget {
  readonly dataDir: string
  readonly crawlId: string
  readonly crawlDir: string
  readonly snapshotId?: string
  readonly snapDir?: string
  /** Where the page's outputs are published, out of reach of other hooks. */
  readonly publishedDir?: string
  /** The folder of the latest other copy of the page, if a hook may take it from there. */
  readonly earlierDir?: string | undefined
  readonly depth: number
  readonly url: string
  /** Command-line arguments in place of `--url`. */
  readonly args?: readonly string[]
}

/** Never passed to a hook: access to our database and server, and variables that would change its own runtime. */
const FORBIDDEN = [
  /^(PG[A-Z]*|DATABASE_URL(_FILE)?|SERVER_TOKEN|CREDENTIALS_DIRECTORY|ARCHIVEBOX_.*)$/,
  /^(NODE_OPTIONS|NODE_CHANNEL_.*|npm_.*|INIT_CWD)$/,
]

/** Whether a setting of this name is kept from hooks. */
export function isKeptFromHooks(name: string): boolean {
  return FORBIDDEN.some((pattern) => pattern.test(name))
}

/** What every program may need of its environment: locale, proxies, certificates, display, where files go. */
const SURROUNDINGS = new RegExp(
  `^(${[
    'PATH|HOME|USER|LOGNAME|SHELL|TZ|TMPDIR|LANG|LANGUAGE|LC_[A-Z]+',
    '(http|https|ftp|all|no)_proxy|(HTTP|HTTPS|FTP|ALL|NO)_PROXY',
    'SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE',
    'DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_(CONFIG|CACHE|DATA|STATE)_HOME|XDG_RUNTIME_DIR',
  ].join('|')})$`,
)

/** The general settings that every hook gets, if they are set. */
const GENERAL = new Set(
  Object.entries(SETTINGS as Readonly<Record<string, Setting>>).flatMap(([name, { by, toHooks }]) =>
    by !== 'machine' || toHooks ? name : [],
  ),
)

/** Whether every hook gets a variable of this name. */
export function isForEveryHook(name: string, allowed: readonly string[]): boolean {
  return SURROUNDINGS.test(name) || GENERAL.has(name) || allowed.includes(name)
}

/** The settings that hooks get: the configuration file, overridden by the environment, overridden by the crawl. */
export function hookSettings(layers: readonly HookSettings[]): Record<string, string | undefined> {
  const merged: Record<string, string | undefined> = {}
  for (const layer of layers)
    for (const [key, value] of Object.entries(layer)) if (!isKeptFromHooks(key)) put(merged, key, value)
  return merged
}

/**
 * The environment of one hook process: what every hook gets, the settings that its plugin declares, ArchiveBox's plugin
 * contract, and our marks; nothing else of our own environment.
 * @param hooks more than one when they share a process; then they are built in, and know their defaults
 */
export function hookEnvironment(
  given: HookSettings,
  target: HookTarget,
  hooks: readonly Hook[],
  ids: { processId: string; workerId: string; runnerId: string },
): Record<string, string> {
  const { dataDir } = target
  const persona = personaTexts(dataDir, given)
  const settings = { ...given, ...persona } // Plugins have other names for these, too.
  const [hook] = hooks
  const contract: Texts = {
    DATA_DIR: dataDir,
    ARCHIVE_DIR: join(dataDir, 'archive'),
    ...persona,
    CRAWL_DIR: target.crawlDir,
    SNAP_DIR: target.snapDir ?? target.crawlDir,
    CRAWL_ID: target.crawlId,
    SNAPSHOT_ID: target.snapshotId,
    SNAPSHOT_DEPTH: String(target.depth),
    ABX_RUNTIME: RUNTIME,
    PYTHONDONTWRITEBYTECODE: '1',
    NODE_BINARY: readSetting('NODE_BINARY', settings),
    EXTRA_CONTEXT: hook && extraContext(target, hook),
    ...(hook && !hook.hosted && treeEnvironment(hook.tree, settings)),
    ARCHIVEBOX_PUBLISHED_DIR: target.publishedDir,
    ARCHIVEBOX_EARLIER_DIR: target.earlierDir,
    ARCHIVEBOX_MAKES: hook?.around,
    [MARKER.process]: ids.processId,
    [MARKER.worker]: ids.workerId,
    [MARKER.runner]: ids.runnerId,
  }
  const allowed = readSetting('HOOK_ENV_ALLOW', settings)
  const passed = Object.entries(settings).filter(
    ([name]) => isForEveryHook(name, allowed) || hooks.some((each) => mayRead(each, name)),
  )
  const declared = hooks.map((each) => resolvedTexts(each.declares, settings, contract, !each.hosted))
  // Naming a plugin enables it: some are off by default.
  const named = hooks.filter(({ isNamed }) => isNamed).map(({ plugin }) => [`${prefixOf(plugin)}ENABLED`, 'True'])
  const env: Texts = Object.assign(Object.fromEntries(passed), ...declared, Object.fromEntries(named), contract)
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && (Object.hasOwn(contract, entry[0]) || !isKeptFromHooks(entry[0])),
    ),
  )
}

/** The persona of the page, and where its files are: only paths, no content. */
function personaTexts(dataDir: string, settings: HookSettings): Texts {
  const personas = join(dataDir, 'personas')
  const name = readSetting('ACTIVE_PERSONA', settings)
  const { cookies, storage, profile, downloads } = personaFiles(join(personas, name))
  const ifThere = (file: string) => (existsSync(file) ? file : undefined)
  return {
    PERSONAS_DIR: personas,
    ACTIVE_PERSONA: name,
    COOKIES_FILE: readSetting('COOKIES_FILE', settings) ?? ifThere(cookies),
    AUTH_STORAGE_FILE: settings['AUTH_STORAGE_FILE'] ?? ifThere(storage),
    CHROME_USER_DATA_DIR: settings['CHROME_USER_DATA_DIR'] ?? profile,
    CHROME_DOWNLOADS_DIR: settings['CHROME_DOWNLOADS_DIR'] ?? downloads,
  }
}

/** Whether a hook may read this setting, besides those that every hook gets and those that its plugin declares. */
function mayRead({ prefix, binaries, declares }: Hook, name: string): boolean {
  return (
    (prefix !== undefined && name.startsWith(prefix)) ||
    binaries.some(({ setting }) => setting === name) ||
    declares.some(({ fallback }) => fallback === name)
  )
}

/** The context that a hook's records carry on, as JSON. */
export function extraContext(target: HookTarget, hook: { plugin: string; name: string }): string {
  return JSON.stringify({
    crawl_id: target.crawlId,
    snapshot_id: target.snapshotId,
    snapshot_depth: target.depth,
    plugin: hook.plugin,
    hook_name: hook.name,
  })
}
