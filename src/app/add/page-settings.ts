import { isSecretName } from '../../base/config.ts'
import { written } from '../../base/config-file.ts'
import { UsageError } from '../../base/errors.ts'
import { put } from '../../base/own.ts'
import type { Configured } from '../archive.ts'
import { crawlSettings, type Pairs } from './new-crawl.ts'
import type { Refuse } from './refuse.ts'

type Settings = Readonly<Record<string, string>>

/** Settings that a person gives for pages, by their names; settings that no page can have are refused. */
export function givenForPages(configured: Configured, given: Pairs, refuse: Refuse): Settings {
  const { known, settings } = configured
  const own = crawlSettings(configured, given, refuse)
  for (const [name, text] of Object.entries(own)) {
    const isSaid = known.refusalForCrawl(name, text, settings.texts) !== undefined
    const why = isSaid ? undefined : refusedForPages(configured, name, text)
    if (why !== undefined) refuse(new UsageError(why), 'settings')
  }
  return own
}

/**
 * The settings in the record of a page, by name: as `KEY: value`, or as we print them. Throws UsageError with the first
 * problem.
 */
export function recordedSettings(
  configured: Configured,
  { settings = {}, url }: Readonly<Record<string, unknown>>,
): Settings {
  const { known } = configured
  const refuse = (why: string) => new UsageError(`settings of ${String(url)}: ${why}`)
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    throw refuse('expected an object such as {"TIMEOUT": 30}')
  const own: Record<string, string> = {}
  for (const [key, given] of Object.entries(settings)) {
    const name = known.nameOf(key.toUpperCase())
    const text = textOf(given)
    if (text === undefined) throw refuse(`${key} must be a value, or have one and the source \`snapshot\``)
    if (text === '***' && isSecretName(name)) throw refuse(`the record does not have the value of ${name}`)
    // jsonb takes neither.
    if (text.includes('\0') || !text.isWellFormed()) throw refuse(`the value of ${name} is not text`)
    const why = refusedForPages(configured, name, text) ?? known.refusalForCrawl(name, text, configured.settings.texts)
    if (why !== undefined) throw refuse(why)
    // Not even what was set here before: a record is about other pages than those it was set for.
    if (known.needsTrust(name, text))
      throw refuse(`${name} may control a program, so it is not taken from a record: set it with -c`)
    put(own, name, text)
  }
  return own
}

/** A value by itself or with its source; undefined: neither. */
function textOf(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return given === null ? undefined : written(given)
  const { value, source } = given as Readonly<Record<string, unknown>>
  return typeof value === 'string' && source === 'snapshot' ? value : undefined
}

/** Why a page cannot have a setting: it may have what a crawl keeps, as from a persona, and only settings of pages. */
function refusedForPages({ known }: Configured, name: string, text: string): string | undefined {
  if (known.setterOf(name) === 'crawl') return `${name} is a setting of the whole crawl`
  if (known.isFrozen(name, text) || !known.knows(name)) return undefined
  return `${name} is not a setting of a page: set it in the environment, or for this machine (machine set)`
}
