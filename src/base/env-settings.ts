import { SETTINGS, type Texts, timeoutOf } from './config.ts'
import { AppError } from './errors.ts'
import type { Kind } from './kinds.ts'
import * as kinds from './kinds.ts'
import { own } from './own.ts'

/** The text of a setting; undefined when it is missing or blank. */
export function text(env: Texts, name: string): string | undefined {
  return own(env, name)?.trim() || undefined
}

/** The value of a setting; undefined when it is missing or blank. Throws AppError for an invalid one. */
function read<T>(env: Texts, name: string, kind: Kind<T>, what: string): T | undefined {
  const given = text(env, name)
  if (given === undefined) return undefined
  const value = kind.read(given)
  if (value === undefined) throw new AppError(`${name} is not ${what}: ${given.slice(0, 80)}`)
  return value
}

/** A yes/no setting in any spelling that ArchiveBox takes. Throws AppError for anything else. */
export function flag(env: Texts, name: string, fallback: boolean): boolean {
  return read(env, name, kinds.flag, kinds.flag.takes) ?? fallback
}

/** `timeoutOf` for a hook that may be started by hand: throws AppError for a value that is no number. */
export function timeoutSeconds(env: Texts, prefix: string): number {
  const seconds = (name: string) => read(env, name, SETTINGS.TIMEOUT.kind, 'a number of seconds')
  return timeoutOf(seconds(`${prefix}_TIMEOUT`), env, seconds('TIMEOUT'))
}

/** A whole number of at least 1. Throws AppError for anything else. */
export function count(env: Texts, name: string, fallback: number): number {
  return read(env, name, kinds.whole(1), 'a number') ?? fallback
}

/** A list setting: JSON array of strings, or comma-separated. Throws AppError for a broken array. */
export function list(env: Texts, name: string, fallback: readonly string[]): readonly string[] {
  return read(env, name, kinds.list, 'a JSON array') ?? fallback
}

/** A size cap with the name of its setting, for the error message. */
export interface SizeLimit {
  readonly bytes: number
  readonly name: string
}

/** A size in bytes, also written `50mb` or `1.5g` (1024-based). Throws AppError for anything else. */
export function sizeLimit(env: Texts, name: string, fallback: number): SizeLimit {
  return { bytes: read(env, name, kinds.size, 'a size') ?? fallback, name }
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
