import {
  isSecretName,
  PLUGIN_SETTINGS,
  readSetting,
  refusal,
  SETTINGS,
  type Setter,
  type Setting,
  stricter,
  type Texts,
} from '../base/config.ts'
import { closest } from '../base/near-miss.ts'
import { own } from '../base/own.ts'
import { isSwitch } from './declared.ts'
import { type Plugin, prefixOf } from './discover.ts'
import { isForEveryHook, isKeptFromHooks } from './environment.ts'
import { hasPlaceholder } from './resolved.ts'
import { isOfMachine } from './setters.ts'

/** What is known about a setting. */
export interface Known extends Pick<Setting, 'kind' | 'secret' | 'by' | 'safe' | 'standardIs' | 'means'> {
  readonly standard?: unknown
  /** The general setting that applies when this one is not set. */
  readonly fallback?: string
}

/** Whether somebody has set this here. */
type IsTrusted = (name: string, given: string) => boolean

/** Every known setting: the program's own and those of the plugins. */
export class KnownSettings {
  /** The plugins' names. */
  readonly plugins: readonly string[]
  readonly #known = new Map<string, Known>()
  /** Other name -> name. */
  readonly #aliases = new Map<string, string>()
  /** Who may set what a plugin reads under this name: the name of one setting may be another's alias or fallback. */
  readonly #setters = new Map<string, Setter>()
  /** Prefixes of settings of plugins that declare none. */
  readonly #silent: readonly string[]

  constructor(plugins: readonly Plugin[]) {
    this.plugins = plugins.map(({ name }) => name)
    for (const plugin of plugins) {
      for (const { name, aliases, fallback, kind, secret, by, standard, means } of plugin.declares) {
        const general = own<Setting>(SETTINGS, fallback ?? '')
        const safe = general?.safe ?? (isSwitch(name) ? 'false' : undefined)
        const known: Known = { kind, by, means, ...(safe !== undefined && { safe }), ...(secret && { secret }) }
        this.#known.set(name, { ...known, standard, ...(fallback !== undefined && { fallback }) })
        for (const alias of aliases) this.#aliases.set(alias, name)
        if (fallback !== undefined && !this.#known.has(fallback)) this.#known.set(fallback, known)
        for (const read of [name, ...aliases, ...(fallback === undefined ? [] : [fallback])])
          this.#setters.set(read, stricter(by, this.#setters.get(read) ?? by))
      }
    }
    for (const { name, binaries } of plugins) {
      const prefix = prefixOf(name)
      for (const [last, fallback] of [['ENABLED'], ['TIMEOUT', 'TIMEOUT']] as const) {
        const { by, ...general } = PLUGIN_SETTINGS[last]
        const setter = this.#setters.get(`${prefix}${last}`) ?? by
        const more = fallback ? { fallback } : { safe: 'false' }
        this.#known.set(`${prefix}${last}`, { ...general, by: setter, ...more })
      }
      for (const { setting } of binaries) {
        if (setting === undefined) continue
        this.#known.set(setting, { ...(this.#known.get(setting) ?? ANY_TEXT), by: 'machine' })
        this.#setters.set(setting, 'machine')
      }
    }
    for (const [name, known] of Object.entries(SETTINGS)) {
      this.#known.set(name, known)
      this.#setters.set(name, known.by)
    }
    this.#silent = plugins.filter(({ declares }) => declares.length === 0).map(({ name }) => prefixOf(name))
  }

  /** Every setting by its name. */
  get all(): ReadonlyMap<string, Known> {
    return this.#known
  }

  /** The other names of a setting. */
  aliasesOf(name: string): string[] {
    return [...this.#aliases].flatMap(([alias, of]) => (of === name ? [alias] : []))
  }

  /** The name under which a setting is stored. */
  nameOf(name: string): string {
    return this.#known.has(name) ? name : (this.#aliases.get(name) ?? name)
  }

  knows(name: string): boolean {
    return this.#known.has(this.nameOf(name))
  }

  /** Who may set this. A future plugin may read an unknown setting: a person or a machine may set it. */
  setterOf(name: string): Setter {
    if (isKeptFromHooks(name)) return 'machine'
    return this.#setters.get(name) ?? this.#known.get(name)?.by ?? (isOfMachine(name) ? 'machine' : 'persona')
  }

  /** Whether this is the value that protects. */
  isSafe(name: string, given: string): boolean {
    const known = this.#known.get(name)
    return known?.safe !== undefined && known.kind.read(given) === known.kind.read(known.safe)
  }

  /**
   * Whether a crawl keeps this value, which the setting has when the crawl is created. It does not keep secrets, which
   * are never in a row, nor settings of a machine: where programs, modules and folders are.
   */
  isFrozen(name: string, given: string): boolean {
    const known = this.#known.get(this.nameOf(name))
    const isForRows = this.setterOf(name) !== 'machine' || this.isSafe(name, given)
    return known !== undefined && isForRows && !known.secret && !isKeptFromHooks(name)
  }

  /** Whether a value in a row counts only when somebody has set it here, since the row may be untrusted. */
  needsTrust(name: string, given: string): boolean {
    return this.#setterOfValue(name, given) === 'persona'
  }

  /** `{NAME}` would insert anything from our environment, and a line break a second header. */
  #setterOfValue(name: string, given: string): Setter {
    if (this.isSafe(name, given)) return 'page'
    const setter = this.setterOf(name)
    return hasPlaceholder(given) || /\p{Cc}/u.test(given) ? stricter(setter, 'persona') : setter
  }

  /**
   * Why a row cannot have this setting, whoever wrote it.
   * @param row whose row it is
   */
  refusalInRow(row: 'page' | 'crawl', name: string, given: string, isTrusted: IsTrusted): string | undefined {
    return this.whyNotInRow(row, name, given, isTrusted) ?? this.refusal(name, given)
  }

  /** The same, whatever values it takes. */
  whyNotInRow(row: 'page' | 'crawl', name: string, given: string, isTrusted: IsTrusted): string | undefined {
    const setter = this.#setterOfValue(name, given)
    if (setter === 'machine') return `${name} is a setting of a machine, not of a row`
    if (setter === 'persona' && !isTrusted(name, given))
      return `${name} is in a row, but was never set to this value here, with -c or otherwise`
    return row === 'page' && setter === 'crawl' ? `${name} is a setting of the whole crawl` : undefined
  }

  /** Whether a hook may see a variable of this name, whatever it is. */
  reachesHooks(name: string, surroundings: Texts): boolean {
    const isOfSilent = this.#silent.some((prefix) => name.startsWith(prefix))
    return this.knows(name) || isOfSilent || isForEveryHook(name, readSetting('HOOK_ENV_ALLOW', surroundings))
  }

  /** Whether the value of this setting is never shown. */
  isSecret(name: string): boolean {
    const known = this.#known.get(this.nameOf(name))
    return known === undefined ? isSecretName(name) : known.secret === true
  }

  /**
   * The setting that an unknown name most likely stands for. A name with the prefix of a plugin that declares no
   * settings can at most be a typo for another one of that plugin.
   */
  meantBy(name: string): string | undefined {
    const prefix = this.#silent.find((each) => name.startsWith(each)) ?? ''
    return closest(
      name,
      [...this.#known.keys(), ...this.#aliases.keys()].filter((known) => known.startsWith(prefix)),
    )
  }

  /** Why a setting cannot have this value; undefined when it can, or when the setting is unknown. */
  refusal(name: string, given: string): string | undefined {
    const known = this.#known.get(this.nameOf(name))
    return known && refusal(name, given, known.kind, known.secret)
  }

  /**
   * Why a crawl cannot have this setting.
   * @param surroundings the settings for all crawls; a crawl may override what HOOK_ENV_ALLOW names
   */
  refusalForCrawl(name: string, given: string, surroundings: Texts): string | undefined {
    const known = this.#known.get(this.nameOf(name))
    if (isKeptFromHooks(name) && !known) return `${name} is kept from hooks: a crawl cannot set it`
    if (this.setterOf(name) === 'machine' && !this.isSafe(name, given))
      return `${name} cannot be set for a crawl: set it in the environment or in archivebox.toml`
    if (known) return this.refusal(name, given)
    return isForEveryHook(name, readSetting('HOOK_ENV_ALLOW', surroundings)) ? undefined : this.refusalAsUnknown(name)
  }

  /** Why no plugin can know a setting of this name; undefined when one may. */
  refusalAsUnknown(name: string): string | undefined {
    if (this.knows(name)) return undefined
    const meant = this.meantBy(name)
    if (meant !== undefined) return `${name} is not a setting: did you mean ${meant}?`
    if (this.#silent.some((prefix) => name.startsWith(prefix))) return undefined
    return `${name} is not a setting of the program or of a plugin: plugins declare theirs in their config.json`
  }
}

const ANY_TEXT: Known = {
  kind: { takes: 'anything', read: (given) => given },
  by: 'machine',
  means: 'where a program is that plugins need',
}
