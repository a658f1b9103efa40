import type { Setter } from '../../base/config.ts'
import { own } from '../../base/own.ts'
import type { Known } from '../../hooks/known-settings.ts'
import type { Configured } from '../archive.ts'

/** A setting as users and programs see it. */
export interface SettingRecord {
  readonly type: 'Setting'
  readonly key: string
  /** Null: it has none. `***`: it has one, which is secret. */
  readonly value: unknown
  /** The source of its value; another setting where that stands in for this one. */
  readonly source: string
  readonly default: unknown
  readonly secret: boolean
  readonly set_by: Setter
}

const MASK = '***'

/**
 * The record of one setting: its value comes from the strongest source with a valid one.
 * @param above the settings that it stands in for
 */
export function settingRecord(configured: Configured, key: string, above: readonly string[] = []): SettingRecord {
  const known = configured.known.all.get(key)
  const given = givenFor(configured, key, known)
  const path = [...above, key]
  // A circle of fallbacks, which a plugin may declare, leads to no value.
  const stand = known?.fallback !== undefined && !path.includes(known.fallback) ? known.fallback : undefined
  const general = given !== undefined || stand === undefined ? undefined : settingRecord(configured, stand, path)
  const isGeneral = general !== undefined && (general.source !== 'default' || known?.standard === undefined)
  const standard = orNull(known?.standard ?? general?.default)
  const secret = configured.known.isSecret(key)
  const value = given?.value ?? (isGeneral ? general.value : standard)
  return {
    type: 'Setting',
    key,
    value: secret && value !== null && value !== '' ? MASK : orNull(value),
    source: given?.source ?? (isGeneral && general.source !== 'default' ? stand! : 'default'),
    default: standard,
    secret,
    set_by: configured.known.setterOf(key),
  }
}

/** The records of all known settings, and of everything else in archivebox.toml, by name. */
export function settingRecords(configured: Configured): SettingRecord[] {
  const file = configured.sources.find(({ name }) => name === 'archivebox.toml')?.texts ?? {}
  const keys = new Set([
    ...configured.known.all.keys(),
    ...Object.keys(file).map((key) => configured.known.nameOf(key)),
  ])
  return [...keys].sort().map((key) => settingRecord(configured, key))
}

function givenFor({ known: all, sources }: Configured, key: string, known: Known | undefined) {
  for (const { name, texts } of sources) {
    for (const as of [key, ...all.aliasesOf(key)]) {
      const text = own(texts, as)
      if (text === undefined || text.trim() === '') continue
      const value = known ? known.kind.read(text) : text
      if (value !== undefined) return { value, source: as === key ? name : `${name} (${as})` }
    }
  }
  return undefined
}

const orNull = (value: unknown) => (value === undefined ? null : value)
