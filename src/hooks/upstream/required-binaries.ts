import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Texts } from '../../base/config.ts'
import { own } from '../../base/own.ts'
import type { NeededBinary } from '../../db/binaries.ts'
import { libDir, OWN_ENVIRONMENT } from './plugin-tree.ts'

/** How one provider installs a program, and where. */
export interface ProviderRules {
  readonly installRoot: string | undefined
  readonly installArgs: readonly string[]
  /** The path of the program, when that does not follow from its name. */
  readonly abspath: string | undefined
  /** Its version, when it cannot tell. */
  readonly version: string | undefined
  /** Whether its installation may run scripts. */
  readonly runsScripts: boolean
}

/** The pages that need a program, if not all do: those without a browser's copy, or some that the hook knows. */
export type NeededBy = 'some pages' | 'pages without a browser'

/** A program, or a module, that a plugin's config.json requires. */
export interface RequiredBinary {
  /**
   * The setting that names the program and tells hooks its path (`WGET_BINARY`); undefined where config.json names the
   * program directly.
   */
  readonly setting: string | undefined
  /** Its name, unless the setting gives another one. */
  readonly name: string
  readonly binproviders: string
  readonly minVersion: string
  /** Not every page needs it: its hooks run without it, and report where they miss it. */
  readonly neededBy?: NeededBy
  /** The rules in config.json for single providers. */
  readonly rules: Readonly<Record<string, ProviderRules>>
}

/** The `required_binaries` of a config.json: names, or `{NAME_BINARY}` for the setting of that name. */
export function requiredBinaries(config: unknown): RequiredBinary[] {
  const { required_binaries: all, properties } = (config ?? {}) as { required_binaries?: unknown; properties?: unknown }
  if (!Array.isArray(all)) return []
  return all.flatMap((entry: unknown) => {
    const said = (typeof entry === 'string' ? { name: entry } : (entry ?? {})) as Record<string, unknown>
    const { name, binproviders, min_version, needed_by } = said
    if (typeof name !== 'string' || name === '') return []
    const setting = /^\{(\w+)\}$/.exec(name)?.[1]
    const declared = (properties ?? {}) as Readonly<Record<string, { default?: unknown } | null>>
    const standard = setting && own(declared, setting)?.default
    return [
      {
        setting,
        name: setting ? (typeof standard === 'string' ? standard : '') : name,
        binproviders: typeof binproviders === 'string' && binproviders !== '' ? binproviders : '*',
        minVersion: typeof min_version === 'string' ? min_version : '',
        ...((needed_by === 'some pages' || needed_by === 'pages without a browser') && { neededBy: needed_by }),
        rules: Object.fromEntries(
          Object.entries((said['overrides'] ?? {}) as object).map(([provider, rules]) => [
            provider,
            rulesOf(rules, said['postinstall_scripts']),
          ]),
        ),
      },
    ]
  })
}

function rulesOf(rules: unknown, scripts: unknown): ProviderRules {
  const said = (rules ?? {}) as Record<string, unknown>
  const text = (given: unknown) => (typeof given === 'string' ? given : undefined)
  return {
    installRoot: text(said['install_root']),
    installArgs: Array.isArray(said['install_args']) ? said['install_args'].map(String) : [],
    abspath: text(said['abspath']),
    version: text(said['version']),
    runsScripts: (said['postinstall_scripts'] ?? scripts) === true,
  }
}

/**
 * What Python hooks need in a tree that shares ArchiveBox's `base/utils.py`: the imports of that file and of the hooks.
 * No config.json lists them, because ArchiveBox installs both as dependencies of the package around the tree.
 */
export function pythonNeeds(tree: string, hooks: readonly string[]): RequiredBinary[] {
  if (!hooks.some((name) => name.endsWith('.py')) || !existsSync(join(tree, 'base', 'utils.py'))) return []
  return [SHARED_PYDANTIC, SHARED_CLICK]
}

const NO_RULES: ProviderRules = {
  installRoot: undefined,
  installArgs: [],
  abspath: undefined,
  version: undefined,
  runsScripts: false,
}

const shared = (name: string, minVersion: string, args: string): RequiredBinary => ({
  ...{ setting: undefined, name, binproviders: 'pip', minVersion },
  rules: { pip: { ...NO_RULES, installRoot: `{ABXPKG_LIB_DIR}/${OWN_ENVIRONMENT}`, installArgs: [args] } },
})
const SHARED_PYDANTIC = shared('pydantic', '2', 'pydantic>=2')
const SHARED_CLICK = shared('rich_click', '', 'rich-click')

/** The program that these settings require on this machine. */
export function needed(binary: RequiredBinary, settings: Texts): NeededBinary {
  const { setting, name, binproviders, minVersion } = binary
  const given = setting && (own(settings, setting) || (setting === 'NODE_BINARY' && process.execPath))
  return { name: given || name, binproviders, minVersion }
}

/** The rules of one provider, with `{NAME}` filled in. */
export function rulesFor({ rules }: RequiredBinary, provider: string, settings: Texts): ProviderRules {
  const { installRoot, installArgs, abspath, version, runsScripts } = own(rules, provider) ?? NO_RULES
  const fill = (text: string | undefined) =>
    text?.replace(/\{([A-Z][A-Z0-9_]*)\}/g, (whole, name: string) =>
      name === 'ABXPKG_LIB_DIR' ? libDir(settings) : (own(settings, name) ?? whole),
    )
  return { installRoot: fill(installRoot), installArgs, abspath: fill(abspath), version, runsScripts }
}
