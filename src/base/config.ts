import { availableParallelism } from 'node:os'
import {
  absolutePath,
  amount,
  databaseUrl,
  flag,
  headerText,
  type Kind,
  list,
  oneOf,
  origin,
  origins,
  path,
  paths,
  personaName,
  size,
  span,
  text,
  tokenText,
  whole,
} from './kinds.ts'

/**
 * Who may set a setting: the least trusted first; each includes those after it.
 * - `page`: the row or record of a page, whoever wrote it
 * - `crawl`: the row of a crawl, whoever wrote it
 * - `persona`: only people who work here: a persona's file, and `-c` on a command line. A row's value counts when one
 *   of these has set the same (`trusted-settings.ts`)
 * - `machine`: the environment, the file of the machine, archivebox.toml; never a row
 */
export const SETTERS = ['page', 'crawl', 'persona', 'machine'] as const
export type Setter = (typeof SETTERS)[number]

/** The stricter one of two. */
export function stricter(one: Setter, other: Setter): Setter {
  return SETTERS.indexOf(one) > SETTERS.indexOf(other) ? one : other
}

/** One setting of the program. */
export interface Setting<T = unknown, Standard = unknown> {
  readonly kind: Kind<T>
  /** Its default. */
  readonly standard: Standard
  /** Its default in words, where the value alone does not say it. */
  readonly standardIs?: string
  readonly means: string
  /** Its option on the command line. */
  readonly option?: string
  /** Its value is never shown. */
  readonly secret?: true
  readonly by: Setter
  /** The value that protects: a page or crawl may always have this one. */
  readonly safe?: string
  /** Hooks get it, although only a machine sets it. */
  readonly toHooks?: true
}

type About = Pick<Setting, 'means' | 'standardIs' | 'option' | 'secret' | 'by' | 'safe' | 'toHooks'>

function setting<T, const Standard extends T | undefined>(kind: Kind<T>, standard: Standard, about: About) {
  return { kind, standard, ...about } satisfies Setting<T, Standard>
}

/** The seeds' cap on workers of one kind; below it, what the machine's cores can feed. */
export const MOST_WORKERS = 8
const SECONDS = amount('seconds')
/** The longest timer that Node can set, in seconds. */
const LONGEST_TIMER = 2_147_483
const WORKERS = whole(1, 1_000)

/** Every setting of the program, by its name in the environment and in archivebox.toml. */
export const SETTINGS = {
  DATA_DIR: setting(path, './data', {
    option: '--data-dir',
    by: 'machine',
    means: 'the folder of the archive',
  }),
  DATABASE_URL: setting(databaseUrl, undefined, {
    option: '--database-url',
    standardIs: 'the embedded server',
    secret: true,
    by: 'machine',
    means: 'a PostgreSQL server, version 14 or later',
  }),
  DATABASE_URL_FILE: setting(absolutePath, undefined, {
    standardIs: "`database-url` in systemd's `$CREDENTIALS_DIRECTORY`, if it is there",
    by: 'machine',
    means: 'a file that holds DATABASE_URL: hooks of the same account can read the environment',
  }),
  WAIT_DB: setting(amount('seconds', LONGEST_TIMER), undefined, {
    option: '--wait-db',
    standardIs: '60 for run, else 15',
    by: 'machine',
    means: 'how long to wait for a database that is starting, recovering or restarting; 0: not at all',
  }),
  LOG_LEVEL: setting(oneOf('debug', 'info', 'warn', 'error'), 'info', {
    option: '-q, -v',
    by: 'machine',
    means: 'the least severe messages to show',
  }),
  LOG_FORMAT: setting(oneOf('text', 'json'), 'text', {
    option: 'run --log-format',
    by: 'machine',
    means: '`json`: `run` and `server` log one object a line, with events of stable names',
  }),
  NO_COLOR: setting(text, undefined, {
    option: '--no-color',
    standardIs: 'colours on a terminal',
    by: 'machine',
    means: 'any value: no colours',
  }),
  FORCE_COLOR: setting(text, undefined, {
    standardIs: 'colours on a terminal',
    by: 'machine',
    means: 'any value: colours everywhere',
  }),
  TIMEOUT: setting(SECONDS, 60, {
    by: 'page',
    means: 'how long a hook may run, at most 12 hours; 0 counts as not set',
  }),
  BACKGROUND_GRACE: setting(SECONDS, 15, {
    by: 'page',
    means: 'the least time that a background hook gets to end after SIGTERM, however long it has run',
  }),
  HOOK_RETRIES: setting(whole(0, 1_000), 3, {
    by: 'page',
    means: 'how often to retry a hook that failed temporarily',
  }),
  HOOK_RETRY_SECONDS: setting(SECONDS, 15, {
    by: 'page',
    means: 'how long to wait before the first retry; doubles with each retry, up to an hour',
  }),
  HOOK_HOST: setting(flag, true, {
    by: 'page',
    means: '`false` runs each built-in hook in a process of its own',
  }),
  USER_AGENT: setting(headerText, undefined, {
    standardIs: '`archivebox-ts` and `CONTACT`',
    by: 'page',
    means: 'the user agent of the built-in hooks',
  }),
  CONTACT: setting(text, undefined, {
    standardIs: 'none',
    by: 'page',
    means: 'a URL or mail address in the default `USER_AGENT`, so that site owners can reach you',
  }),
  MANNERS: setting(oneOf('public', 'all', 'off'), 'public', {
    by: 'page',
    means: 'which hosts the limits below apply to: those with a public address, all, or none',
  }),
  HOST_CONCURRENCY: setting(whole(0, 1_000), 4, {
    by: 'page',
    means: 'how many pages of one host are archived at once, by all workers of all machines; 0: no limit',
  }),
  HOST_DELAY: setting(amount('seconds', 3_600), 0.25, {
    by: 'page',
    means: 'the least time between the starts of two pages of one host',
  }),
  ROBOTS_TXT: setting(flag, false, {
    by: 'page',
    means: '`true` skips pages that the robots.txt of their host forbids, and respects its Crawl-delay',
  }),
  REUSE_UNCHANGED: setting(flag, true, {
    by: 'page',
    means:
      '`false`, as set by `add --again`, fetches everything anew; otherwise a page that was archived before is ' +
      'requested with its ETag and date, and taken from its latest copy when unchanged',
  }),
  MAX_PAGES_PER_HOST: setting(whole(0, 10_000_000), 0, {
    by: 'crawl',
    means: 'how many pages of one host a crawl may archive; 0: no limit',
  }),
  MAX_SIZE_PER_HOST: setting(size, 0, {
    by: 'crawl',
    means: 'a crawl starts no more pages of a host once it has stored this much of it; 0: no limit',
  }),
  CRAWL_WACZ_MAX_SIZE: setting(size, 1024 ** 3, {
    standardIs: '1gb',
    by: 'crawl',
    means: 'up to this total size, the WARCs of a crawl are also packed into `wacz/crawl.wacz` in its folder; 0: never',
  }),
  CHECK_SSL_VALIDITY: setting(flag, true, {
    by: 'persona',
    safe: 'true',
    means: '`false` accepts bad certificates',
  }),
  ACCEPT_LANGUAGE: setting(headerText, undefined, {
    standardIs: "the browser's own",
    by: 'page',
    means: 'the languages to request pages in, preferred first: `de-DE,de;q=0.9`',
  }),
  BLOCK_PRIVATE_ADDRESSES: setting(flag, false, {
    by: 'machine',
    safe: 'true',
    toHooks: true,
    means:
      '`true` blocks private and loopback addresses, whatever name or redirect leads there; link-local ' +
      'addresses and metadata services of clouds are always blocked',
  }),
  ALLOW_PRIVATE_HOSTS: setting(list, [], {
    standardIs: 'none',
    by: 'machine',
    toHooks: true,
    means:
      'exceptions to this, also for link-local addresses: names or addresses, with `:port` to allow that port only, ' +
      'and networks',
  }),
  ACTIVE_PERSONA: setting(personaName, 'Default', {
    by: 'crawl',
    means: 'the persona in `personas` whose cookies, headers and settings pages are visited with',
  }),
  COOKIES_FILE: setting(path, undefined, {
    standardIs: 'that of the persona',
    by: 'persona',
    means: 'the cookies to request pages with, in Netscape format (cookies.txt)',
  }),
  NODE_BINARY: setting(path, process.execPath, {
    standardIs: 'the one that runs the program',
    by: 'machine',
    toHooks: true,
    means: 'the Node that hooks run on',
  }),
  ABX_PLUGINS_DIR: setting(paths, [], {
    standardIs: 'none',
    by: 'machine',
    toHooks: true,
    means: 'additional plugin folders; later ones win',
  }),
  ABXPKG_LIB_DIR: setting(path, undefined, {
    standardIs: "`abx/lib` in the user's configuration folder, as for abx-dl",
    by: 'machine',
    means: 'where `plugin install` and abxpkg install programs and modules for plugins',
  }),
  NODE_MODULES_DIR: setting(path, undefined, {
    standardIs: '`npm/node_modules` in ABXPKG_LIB_DIR',
    by: 'machine',
    means: 'where plugins find Node modules, and `plugin install` installs them',
  }),
  PYTHON_BINARY: setting(path, undefined, {
    standardIs: "that of the plugins' own virtual environment, else `python3`",
    by: 'machine',
    means: 'the Python that runs the hooks of plugins',
  }),
  CHROMEWEBSTORE_EXTENSIONS_DIR: setting(path, undefined, {
    standardIs: '`chromewebstore/extensions` in ABXPKG_LIB_DIR',
    by: 'machine',
    means: 'where plugins find browser extensions',
  }),
  HOOK_ENV_ALLOW: setting(list, [], {
    standardIs: 'none',
    by: 'machine',
    means: 'environment variables to pass to hooks, beside those that the contract or their plugins name',
  }),
  MAX_CRAWL_WORKERS: setting(WORKERS, Math.min(availableParallelism(), MOST_WORKERS), {
    standardIs: `cores, at most ${MOST_WORKERS}`,
    by: 'machine',
    means: 'how many crawls are worked on at once',
  }),
  MAX_SNAPSHOT_WORKERS: setting(WORKERS, undefined, {
    standardIs: `one more than cores, at most ${MOST_WORKERS}`,
    by: 'machine',
    means: 'how many pages of one crawl are archived at once',
  }),
  STOP_SECONDS: setting(amount('seconds', LONGEST_TIMER), undefined, {
    by: 'machine',
    standardIs: 'what is left of the timeouts of its hooks',
    means:
      'how long a runner may take to stop; hooks that still run shortly before that are ' +
      'killed, and run again next time',
  }),
  NODE_LOST_SECONDS: setting(amount('seconds', LONGEST_TIMER), 120, {
    by: 'machine',
    means:
      'how long another data dir on the same database may be silent, until the pages that it has begun are archived ' +
      'here; longer than a reboot, which it survives with its work',
  }),
  CONTAINMENT: setting(oneOf('auto', 'basic', 'pidns', 'cgroup'), 'auto', {
    by: 'machine',
    means: 'what keeps hooks from outliving the runner; `auto`: a control group where available, else `basic`',
  }),
  HOOK_USER: setting(text, undefined, {
    by: 'machine',
    standardIs: 'as root the owner of the database cluster, else whoever runs the program',
    means:
      'the user that root runs hooks and browsers as; `root` for plugins that need it, with no sandbox for browsers',
  }),
  HISTORY_DAYS: setting(whole(0, 100_000), 30, {
    by: 'machine',
    means: 'how long ended processes and the log of transitions are kept; 0: for ever',
  }),
  BACKUP_EVERY: setting(span, undefined, {
    standardIs: 'never',
    by: 'machine',
    means: 'how often the runner that leads makes a backup of all rows; one that is made by hand counts, too',
  }),
  BACKUP_DIR: setting(absolutePath, undefined, {
    standardIs: '`backups` in the data dir',
    by: 'machine',
    means: 'the folder of these backups: better on another disk than the database',
  }),
  BACKUP_CHECK: setting(oneOf('restore', 'read'), 'restore', {
    by: 'machine',
    means:
      'how each of them is checked: restored into a database that is removed again, where there is room, or only ' +
      'read from end to end',
  }),
  BACKUP_KEEP: setting(whole(1, 10_000), 7, {
    by: 'machine',
    means: 'how many of them are kept; older ones are deleted',
  }),
  PUBLIC_URL: setting(origin, undefined, {
    standardIs: '`http://abx-<8 digits>.localhost` and the port',
    by: 'machine',
    means: 'the URL at which a proxy on this machine serves `server`; `http://127.0.0.1:8000` without `*.localhost`',
  }),
  SERVER_TOKEN: setting(tokenText, undefined, {
    standardIs: 'none',
    secret: true,
    by: 'machine',
    means: 'the token that programs send as `Authorization: Bearer` to read the API and metrics of `server`',
  }),
  CONTENT_URL: setting(origins, undefined, {
    standardIs: 'hosts below `localhost`, one per copy',
    by: 'machine',
    means: 'the URL at which that proxy serves the next higher port, which has the copies; `*.` gives each a host',
  }),
  DISK_FLOOR: setting(amount('MB'), 200, {
    by: 'machine',
    means: 'the free space below which no page is started; 0 turns this off',
  }),
} as const

/** The settings that every plugin has, as `<PLUGIN>_<NAME>`. */
export const PLUGIN_SETTINGS = {
  ENABLED: setting(flag, true, {
    by: 'page',
    means: '`false` turns a plugin off',
  }),
  TIMEOUT: setting(SECONDS, undefined, {
    standardIs: '`TIMEOUT`',
    by: 'page',
    means: 'how long its hooks may take',
  }),
} as const

/** 12 hours: the longest that a page may take. */
const MAX_TIMEOUT_SECONDS = 43_200

/**
 * How long hooks of a plugin may take, in seconds: `own`, else `standard`, which is `TIMEOUT` by default. 0 counts as
 * not set.
 * @param own `<PLUGIN>_TIMEOUT`
 */
export function timeoutOf(own: number | undefined, texts: Texts, standard = readSetting('TIMEOUT', texts)): number {
  return Math.min(own || standard || SETTINGS.TIMEOUT.standard, MAX_TIMEOUT_SECONDS)
}

export type SettingName = keyof typeof SETTINGS
type ValueOf<S> = S extends Setting<infer T, infer Standard> ? T | Extract<Standard, undefined> : never

/** The value of every setting. */
export type Config = { readonly [Name in SettingName]: ValueOf<(typeof SETTINGS)[Name]> }

/** What a setting means, with its name and its default: for help. */
export function described(name: SettingName): string {
  const { means, standard, standardIs }: Setting = SETTINGS[name]
  return `${means} (also ${name}; default: ${standardIs ?? String(standard)})`
}

/** Whether a setting of this name is secret, whatever else is known about it. */
export function isSecretName(name: string): boolean {
  return /KEY|TOKEN|SECRET|PASSWORD|COOKIE/.test(name)
}

/** Settings as written, by name. */
export type Texts = Readonly<Record<string, string | undefined>>

/** The settings of one process, or of one crawl. */
export interface Settings {
  /** The settings as written: hooks read them by their own rules. */
  readonly texts: Texts
  readonly config: Config
}

/** The environment at our start. No other file reads settings from it. */
export const ENVIRONMENT: Texts = Object.freeze({ ...process.env })

/** Each setting from the strongest source that has it: the command line, a crawl, the environment, archivebox.toml. */
export function strongest(...sources: readonly Texts[]): Texts {
  const set = (texts: Texts) => Object.fromEntries(Object.entries(texts).filter(([, given]) => given !== undefined))
  return Object.assign({}, ...sources.map(set).reverse()) as Texts
}

/** The value of one setting. An invalid one counts as not set: the command line has reported it. */
export function readSetting<Name extends SettingName>(name: Name, texts: Texts): Config[Name] {
  const given = texts[name]
  const { kind, standard } = SETTINGS[name]
  return ((given === undefined ? undefined : kind.read(given)) ?? standard) as Config[Name]
}

/** The values of all settings, frozen. */
export function settingsOf(texts: Texts): Settings {
  const names = Object.keys(SETTINGS) as SettingName[]
  const config = Object.fromEntries(names.map((name) => [name, readSetting(name, texts)])) as unknown as Config
  return Object.freeze({ texts: Object.freeze(texts), config: Object.freeze(config) })
}

/**
 * Why a value is refused, in one line without secrets; undefined when it is accepted. A blank value is always accepted:
 * it counts as not set.
 */
export function refusal(name: string, given: string, kind: Kind<unknown>, secret = false): string | undefined {
  if (given.trim() === '' || kind.read(given) !== undefined) return undefined
  const shown = given.length > 60 ? `${given.slice(0, 60)}...` : given
  return `${name}${secret ? '' : `=${shown}`}: it takes ${kind.takes}`
}
