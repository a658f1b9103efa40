import type { Texts } from '../base/config.ts'
import type { NeededBinary } from '../db/binaries.ts'

/** A program that a plugin's config.json requires. */
export interface RequiredBinary {
  /**
   * The setting that names the program and tells hooks its path (`WGET_BINARY`); undefined where config.json names the
   * program directly.
   */
  readonly setting: string | undefined
  /** Its name, unless the setting gives another. */
  readonly name: string
  readonly binproviders: string
  readonly minVersion: string
}

/** The `required_binaries` of a config.json: names, or `{NAME_BINARY}` for the setting of that name. */
export function requiredBinaries(config: unknown): RequiredBinary[] {
  const { required_binaries: all, properties } = (config ?? {}) as { required_binaries?: unknown; properties?: unknown }
  if (!Array.isArray(all)) return []
  return all.flatMap((entry: unknown) => {
    const { name, binproviders, min_version } = (typeof entry === 'string' ? { name: entry } : (entry ?? {})) as Record<
      string,
      unknown
    >
    if (typeof name !== 'string' || name === '') return []
    const setting = /^\{(\w+)\}$/.exec(name)?.[1]
    const standard = setting && (properties as Record<string, { default?: unknown }> | undefined)?.[setting]?.default
    return [
      {
        setting,
        name: setting ? (typeof standard === 'string' ? standard : '') : name,
        binproviders: typeof binproviders === 'string' && binproviders !== '' ? binproviders : '*',
        minVersion: typeof min_version === 'string' ? min_version : '',
      },
    ]
  })
}

/** The program that these settings require on this machine. */
export function needed(binary: RequiredBinary, settings: Texts): NeededBinary {
  const { setting, name, binproviders, minVersion } = binary
  return { name: (setting && settings[setting]) || name, binproviders, minVersion }
}
