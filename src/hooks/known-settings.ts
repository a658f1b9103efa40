import {
  isSecretName,
  PLUGIN_SETTINGS,
  readSetting,
  refusal,
  SETTINGS,
  type Setting,
  type Texts,
} from '../base/config.ts'
import { closest } from '../base/near-miss.ts'
import { type Plugin, prefixOf } from './discover.ts'
import { isForEveryHook, isKeptFromHooks } from './environment.ts'

/** What is known of a setting. */
export interface Known extends Pick<Setting, 'kind' | 'secret' | 'perCrawl' | 'standardIs' | 'means'> {
  readonly standard?: unknown
  /** The general setting that applies when this one is not set. */
  readonly fallback?: string
}

/** Every known setting: the program's own and those of the plugins. */
export class KnownSettings {
  /** The plugins' names. */
  readonly plugins: readonly string[]
  readonly #known = new Map<string, Known>()
  /** Other name -> name. */
  readonly #aliases = new Map<string, string>()
  /** Prefixes of settings of plugins that declare none. */
  readonly #silent: readonly string[]

  constructor(plugins: readonly Plugin[]) {
    this.plugins = plugins.map(({ name }) => name)
    for (const plugin of plugins) {
      for (const { name, aliases, fallback, kind, secret, standard, means } of plugin.declares) {
        const known: Known = { kind, perCrawl: true, means, ...(secret && { secret }) }
        this.#known.set(name, { ...known, standard, ...(fallback !== undefined && { fallback }) })
        for (const alias of aliases) this.#aliases.set(alias, name)
        if (fallback !== undefined && !this.#known.has(fallback)) this.#known.set(fallback, known)
      }
    }
    for (const { name, binaries } of plugins) {
      const prefix = prefixOf(name)
      this.#known.set(`${prefix}ENABLED`, PLUGIN_SETTINGS.ENABLED)
      this.#known.set(`${prefix}TIMEOUT`, { ...PLUGIN_SETTINGS.TIMEOUT, fallback: 'TIMEOUT' })
      for (const { setting } of binaries) if (setting && !this.#known.has(setting)) this.#known.set(setting, ANY_TEXT)
    }
    for (const [name, known] of Object.entries(SETTINGS)) this.#known.set(name, known)
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

  /**
   * Does a crawl keep the value that this setting has when the crawl is created? Not so a secret, which lies in no row,
   * and what is about a machine: where programs, modules and folders are.
   */
  isFrozen(name: string): boolean {
    const known = this.#known.get(this.nameOf(name))
    return known?.perCrawl === true && !known.secret && !isKeptFromHooks(name) && !/(^|_)(BINARY|DIR|PATH)$/.test(name)
  }

  /** Is the value of this setting never shown? */
  isSecret(name: string): boolean {
    const known = this.#known.get(this.nameOf(name))
    return known === undefined ? isSecretName(name) : known.secret === true
  }

  /** The setting that an unknown name most likely stands for. */
  meantBy(name: string): string | undefined {
    return closest(name, [...this.#known.keys(), ...this.#aliases.keys()])
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
    if (known && !known.perCrawl) return `${name} is not for one crawl: set it in the environment or in archivebox.toml`
    if (isKeptFromHooks(name)) return `${name} is kept from hooks: a crawl cannot set it`
    if (known) return this.refusal(name, given)
    return isForEveryHook(name, readSetting('HOOK_ENV_ALLOW', surroundings)) ? undefined : this.refusalAsUnknown(name)
  }

  /** Why nobody can know a setting of this name; undefined when somebody may. */
  refusalAsUnknown(name: string): string | undefined {
    if (this.knows(name)) return undefined
    const meant = this.meantBy(name)
    if (meant !== undefined) return `${name} is no setting: did you mean ${meant}?`
    if (this.#silent.some((prefix) => name.startsWith(prefix))) return undefined
    return `${name} is no setting, neither of the program nor of a plugin: plugins declare theirs in their config.json`
  }
}

const ANY_TEXT: Known = {
  kind: { takes: 'anything', read: (given) => given },
  perCrawl: true,
  means: 'where a program is that plugins need',
}
