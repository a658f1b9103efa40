import { AppError } from '../../base/errors.ts'

type Env = Readonly<Record<string, string | undefined>>

const DEFAULT_TIMEOUT_SECONDS = 60
/** 12 hours: the longest that a snapshot may take. */
const MAX_TIMEOUT_SECONDS = 43_200
const UNITS: Readonly<Record<string, number>> = { '': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }

/** The text of a setting; undefined when it is missing or blank. */
export function text(env: Env, name: string): string | undefined {
  return env[name]?.trim() || undefined
}

/** A yes/no setting in any spelling that ArchiveBox takes; anything else is `fallback`. */
export function flag(env: Env, name: string, fallback: boolean): boolean {
  const value = text(env, name)?.toLowerCase() ?? ''
  if (['true', '1', 'yes', 'on'].includes(value)) return true
  if (['false', '0', 'no', 'off'].includes(value)) return false
  return fallback
}

/** `<PREFIX>_TIMEOUT`, else `TIMEOUT`, else 60: seconds, at most 12 hours; 0 is "not set". Throws AppError for what is no number. */
export function timeoutSeconds(env: Env, prefix: string): number {
  for (const name of [`${prefix}_TIMEOUT`, 'TIMEOUT']) {
    const value = text(env, name)
    if (value === undefined) continue
    const seconds = Number(value)
    if (!Number.isFinite(seconds) || seconds < 0) throw new AppError(`${name} is not a number of seconds: ${value}`)
    if (seconds > 0) return Math.min(seconds, MAX_TIMEOUT_SECONDS)
  }
  return DEFAULT_TIMEOUT_SECONDS
}

/** A whole number of at least 1; throws AppError for anything else. */
export function count(env: Env, name: string, fallback: number): number {
  const value = text(env, name)
  if (value === undefined) return fallback
  if (!/^[1-9]\d{0,9}$/.test(value)) throw new AppError(`${name} is not a number: ${value}`)
  return Number(value)
}

/** A list setting: JSON array of strings, or comma-separated. */
export function list(env: Env, name: string, fallback: readonly string[]): readonly string[] {
  const value = text(env, name)
  if (value === undefined) return fallback
  if (value.startsWith('[')) {
    try {
      return (JSON.parse(value) as unknown[]).map(String)
    } catch {
      throw new AppError(`${name} is not a JSON array: ${value.slice(0, 80)}`)
    }
  }
  return value.split(',').flatMap((item) => item.trim() || [])
}

/** A size cap together with the name of its setting, so that the error can say which knob to turn. */
export interface SizeLimit {
  readonly bytes: number
  readonly name: string
}

/** A size in bytes, also written `50mb` or `1.5g` (1024-based). Throws AppError for anything else. */
export function sizeLimit(env: Env, name: string, fallback: number): SizeLimit {
  const value = text(env, name)
  if (value === undefined) return { bytes: fallback, name }
  const match = /^(\d+(?:\.\d+)?)\s*([kmg]?)i?b?$/i.exec(value)
  if (!match) throw new AppError(`${name} is not a size: ${value}`)
  return { bytes: Math.floor(Number(match[1]) * UNITS[match[2]!.toLowerCase()]!), name }
}

/** Bytes for people: `812 bytes`, `7.1 kB`, `50 MB` (1024-based, as the settings are). */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  const power = Math.min(3, Math.floor(Math.log(bytes) / Math.log(1024)))
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${['', 'kB', 'MB', 'GB'][power]}`
}

/** The error for a body that outgrew its cap. */
export function tooLarge(limit: SizeLimit): AppError {
  return new AppError(`larger than ${sizeText(limit.bytes)} (${limit.name})`)
}
