import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, messageOf, UsageError } from './errors.ts'

export const CONFIG_FILE = 'archivebox.toml'

/**
 * The settings in DATA_DIR/archivebox.toml as the environment would hold them: upper-case keys; a table's keys count as
 * if they stood outside it; arrays and dates as JSON text. No file: no settings. Throws UsageError for a file that is
 * not TOML.
 */
export async function readConfigFile(dataDir: string): Promise<Record<string, string>> {
  const file = join(dataDir, CONFIG_FILE)
  return await configIn(configText(file) ?? '', file)
}

/** The text of a configuration file; undefined: there is none. Throws UsageError when it cannot be read. */
export function configText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(codeOf(error) ?? '')) return undefined
    throw new UsageError(`cannot read ${file}: ${messageOf(error)}`)
  }
}

/** The settings in the text of a configuration file, as `readConfigFile` has them. */
export async function configIn(text: string, file: string): Promise<Record<string, string>> {
  return textsOf(await tomlIn(text, file))
}

/** What the text of a TOML file says. Throws UsageError for one that is not TOML. */
export async function tomlIn(text: string, file: string): Promise<Readonly<Record<string, unknown>>> {
  // A new file has only comments: then the parser need not be loaded.
  if (!/^\s*[^#\s]/m.test(text)) return {}
  try {
    const { parse } = await import('@decimalturn/toml-patch')
    return parse(text) as Record<string, unknown>
  } catch (error) {
    throw new UsageError(
      `${file} is not valid TOML: ${messageOf(error)}`,
      'mend the line it names, or move the file away',
    )
  }
}

/** The settings in a parsed file as the environment would hold them. */
export function textsOf(parsed: object): Record<string, string> {
  return Object.fromEntries(entriesIn(parsed).map(({ key, value }) => [key, written(value)]))
}

/** One setting in a parsed file: its name, and the table that holds it under the key as it is written there. */
export interface Entry {
  readonly key: string
  readonly value: unknown
  readonly table: Record<string, unknown>
  readonly as: string
}

/** Every setting in a parsed file; of one that comes twice the last counts. */
export function entriesIn(parsed: object): Entry[] {
  const table = parsed as Record<string, unknown>
  return Object.entries(table).flatMap(([as, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
      ? entriesIn(value)
      : [{ key: as.toUpperCase(), value, table, as }],
  )
}

/** A value as the environment would hold it. */
export function written(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
