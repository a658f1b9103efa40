// Writes the tables of all settings into docs/settings.md: those of the schema, and those of the built-in plugins.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { PLUGIN_SETTINGS, SETTINGS, type Setting } from '../src/base/config.ts'
import { type Declared, declaredSettings, textOf } from '../src/hooks/declared.ts'

const root = join(import.meta.dirname, '..')
const file = join(root, 'docs', 'settings.md')
const TABLE = /^\| setting \|.*?(?=\n\n|\n$(?!\n))/gms

/** Every setting under its documented name. */
export const ALL_SETTINGS: Readonly<Record<string, Setting>> = {
  ...SETTINGS,
  ...Object.fromEntries(Object.entries(PLUGIN_SETTINGS).map(([last, setting]) => [`<PLUGIN>_${last}`, setting])),
}

/** The text with both tables updated. */
export function withSettings(text: string): string {
  const tables = [generalTable(), pluginTable()]
  return text.replace(TABLE, () => tables.shift() ?? '')
}

function generalTable(): string {
  const rows = Object.entries(ALL_SETTINGS).map(([name, { option, kind, standard, standardIs, by, means }]) => [
    `\`${name}\``,
    option?.replace(/[^, ]+/g, '`$&`') ?? '',
    kind.takes,
    standardIs ?? code(String(standard)),
    by,
    means,
  ])
  return tableOf(['setting', 'option', 'takes', 'default', 'set by', 'means'], rows)
}

/** The settings that plugins declare besides `<PLUGIN>_ENABLED` and `<PLUGIN>_TIMEOUT`. */
function pluginTable(): string {
  const rows = globSync('src/plugins/*/config.json', { cwd: root })
    .sort()
    .flatMap((config) => {
      const prefix = basename(dirname(config)).toUpperCase()
      const declared = declaredSettings(JSON.parse(readFileSync(join(root, config), 'utf8')))
      return declared.filter(({ name }) => ![`${prefix}_ENABLED`, `${prefix}_TIMEOUT`].includes(name)).map(pluginRow)
    })
  return tableOf(['setting', 'takes', 'default', 'set by', 'means'], rows)
}

function pluginRow({ name, kind, standard, fallback, by, means }: Declared): string[] {
  const text = typeof standard === 'boolean' ? String(standard) : textOf(standard)
  const own = !text || text === '[]' ? 'none' : `\`${text}\``
  return [`\`${name}\``, kind.takes, fallback ? `\`${fallback}\`, else ${own}` : own, by, means]
}

const code = (words: string) => (/^[\w./]+$/.test(words) ? `\`${words}\`` : words)

function tableOf(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return [heads, heads.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`.replaceAll('|  |', '| |'))
    .join('\n')
}

if (import.meta.main) writeFileSync(file, withSettings(readFileSync(file, 'utf8')))
