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
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return {}
    throw new UsageError(`cannot read ${file}: ${messageOf(error)}`)
  }
  const settings: Record<string, string> = {}
  const collect = (table: object) => {
    for (const [key, value] of Object.entries(table)) {
      if (typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date))
        collect(value)
      else settings[key.toUpperCase()] = typeof value === 'object' ? JSON.stringify(value) : String(value)
    }
  }
  try {
    // A new file has only comments: then the parser need not be loaded.
    if (/^\s*[^#\s]/m.test(text)) collect((await import('smol-toml')).parse(text))
  } catch (error) {
    throw new UsageError(
      `${file} is not valid TOML: ${messageOf(error)}`,
      'mend the line it names, or move the file away',
    )
  }
  return settings
}
