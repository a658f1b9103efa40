import { isSecretName, PLUGIN_SETTINGS, type Setter } from '../base/config.ts'
import { flag, type Kind, list, number, oneOf, size, timeZone, whole } from '../base/kinds.ts'
import { setterOf } from './setters.ts'

/** A setting that a plugin's config.json declares. */
export interface Declared {
  readonly name: string
  /** Other names that ArchiveBox has or had for it. */
  readonly aliases: readonly string[]
  /** The general setting that applies when this one is not set. */
  readonly fallback: string | undefined
  readonly kind: Kind<unknown>
  readonly secret: boolean
  readonly by: Setter
  /** Its default in config.json, as JSON; undefined if there is none. */
  readonly standard: unknown
  readonly means: string
}

interface Property {
  readonly type?: unknown
  readonly default?: unknown
  readonly description?: unknown
  readonly enum?: unknown
  readonly format?: unknown
  readonly pattern?: unknown
  readonly minimum?: unknown
  readonly maximum?: unknown
  readonly 'x-aliases'?: unknown
  readonly 'x-fallback'?: unknown
  readonly 'x-sensitive'?: unknown
  readonly 'x-set-by'?: unknown
}

/** The settings among the `properties` of a config.json, which is JSON Schema; `format: size` is our addition. */
export function declaredSettings(config: unknown): Declared[] {
  const { properties } = (config ?? {}) as { properties?: unknown }
  if (typeof properties !== 'object' || properties === null) return []
  return Object.entries(properties as Record<string, Property | null>).map(([name, property]) => {
    const fallback = texts([property?.['x-fallback']])[0]
    const secret = property?.['x-sensitive'] === true || isSecretName(name)
    return {
      name,
      aliases: texts(property?.['x-aliases']),
      fallback,
      kind: kindOf(property ?? {}),
      secret,
      by: setterOf({ name, fallback, given: property?.['x-set-by'], isPlain: isPlain(name, property ?? {}), secret }),
      standard: property?.default,
      means: texts([property?.description])[0] ?? '',
    }
  })
}

/** The settings that a plugin declares, if any, and after its switch the time limit, which every plugin has. */
export function withTimeout(declares: readonly Declared[], name: string): readonly Declared[] {
  const { kind, by, means } = PLUGIN_SETTINGS.TIMEOUT
  const general = { name, aliases: [], fallback: 'TIMEOUT', kind, by, secret: false, standard: undefined, means }
  const isWhole = declares.length === 0 || declares.some((one) => one.name === name)
  return isWhole ? declares : declares.toSpliced(1, 0, general)
}

/**
 * A value that is a flag, a number or one of a few words cannot be an argument, file or address. But a feature that is
 * off by default costs something, or tells others something.
 */
function isPlain(name: string, { type, format, enum: words, default: standard }: Property): boolean {
  if (isSwitch(name) && standard === false) return false
  return (
    Array.isArray(words) ||
    format === 'size' ||
    format === 'timezone' ||
    type === 'boolean' ||
    type === 'integer' ||
    type === 'number'
  )
}

const ANYTHING: Kind<string> = { takes: 'anything', read: (given) => given }

/** Describes the values that the schema accepts. Unknown rules reject nothing: the hook itself decides. */
function kindOf(property: Property): Kind<unknown> {
  const { type, format, minimum, maximum } = property
  if (format === 'size') return size
  if (format === 'timezone') return timeZone
  if (Array.isArray(property.enum)) return oneOf(...property.enum.map(String))
  if (type === 'boolean') return flag
  if (type === 'integer') return whole(numeric(minimum), numeric(maximum))
  if (type === 'number') return number(numeric(minimum), numeric(maximum))
  if (type === 'array') return list
  if (type === 'string' && typeof property.pattern === 'string') return matching(property.pattern)
  return ANYTHING
}

/** Whether this enables a plugin, or a part of one. */
export const isSwitch = (name: string): boolean => name.endsWith('_ENABLED')

function matching(pattern: string): Kind<string> {
  try {
    const expression = new RegExp(pattern, 'u')
    return { takes: `text that matches ${pattern}`, read: (given) => (expression.test(given) ? given : undefined) }
  } catch {
    return ANYTHING
  }
}

/** A value as ArchiveBox writes it into an environment. */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const numeric = (value: unknown) => (typeof value === 'number' ? value : undefined)
const texts = (value: unknown) => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])
