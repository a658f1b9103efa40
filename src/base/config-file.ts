import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, messageOf, UsageError } from './errors.ts'

export const CONFIG_FILE = 'archivebox.toml'

/**
 * The settings in DATA_DIR/archivebox.toml in the form of an environment: upper-case keys; the keys of tables count as
 * if they stood outside; arrays and dates as JSON text. No file: no settings. Throws UsageError for a file that is not
 * TOML.
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

/** The settings in the text of a configuration file, in the form of `readConfigFile`. */
export async function configIn(text: string, file: string): Promise<Record<string, string>> {
  return textsOf(await tomlIn(text, file))
}

/** The content of a TOML file. Throws UsageError for one that is not TOML. */
export async function tomlIn(text: string, file: string): Promise<Readonly<Record<string, unknown>>> {
  // A new file has only comments: the parser need not be loaded.
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

/** The settings in a parsed file, in the form of an environment. */
export function textsOf(parsed: object): Record<string, string> {
  return Object.fromEntries(entriesIn(parsed).map(({ key, value }) => [key, written(value)]))
}

/** One setting in a parsed file: its name, and the table that holds it under its original key. */
export interface Entry {
  readonly key: string
  readonly value: unknown
  readonly table: Record<string, unknown>
  readonly as: string
}

/** Every setting in a parsed file; the last of duplicates counts. */
export function entriesIn(parsed: object): Entry[] {
  const table = parsed as Record<string, unknown>
  return Object.entries(table).flatMap(([as, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
      ? entriesIn(value)
      : [{ key: as.toUpperCase(), value, table, as }],
  )
}

/** A value in the form of an environment. */
export function written(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
