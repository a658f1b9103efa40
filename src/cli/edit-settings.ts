import { isDeepStrictEqual } from 'node:util'
import { type SettingsFile, setSettings } from '../app/settings/set-settings.ts'
import type { TomlValue } from '../base/config-edit.ts'
import { CONFIG_FILE, written } from '../base/config-file.ts'
import { openDataDir } from '../base/data-dir.ts'
import { UsageError } from '../base/errors.ts'
import { own } from '../base/own.ts'
import { Problems } from '../base/problems.ts'
import type { Known } from '../hooks/known-settings.ts'
import { sayMeanwhile } from './meanwhile.ts'
import type { Asked } from './settings.ts'
import { terminal } from './terminal.ts'

/** `config set` and `machine set`, `KEY VALUE` or `KEY=VALUE...`: all of them, or none when one is wrong. */
export async function editSettings(asked: Asked, words: readonly string[], file: SettingsFile): Promise<void> {
  openDataDir(asked.dataDir, 'never')
  const problems = new Problems()
  const changes = new Map<string, TomlValue>()
  for (const [key, text] of pairsIn(words, file)) {
    const name = knownName(asked, key, problems)
    const why = refusalHere(asked, name, text, file)
    if (why !== undefined) problems.add(why)
    changes.set(name, tomlValue(text, asked.known.all.get(name)))
  }
  problems.refuse()
  await setSettings(asked, changes, { tell: sayMeanwhile, file })
  terminal.say(`${[...changes.keys()].join(', ')} set; takes effect when a runner starts`)
}

/** `config unset KEY...` and `machine unset KEY...` */
export async function unsetSettings(asked: Asked, keys: readonly string[], file: SettingsFile): Promise<void> {
  openDataDir(asked.dataDir, 'never')
  const problems = new Problems()
  const names = keys.map((key) => knownName(asked, key, problems))
  problems.refuse()
  const changed = await setSettings(asked, new Map(names.map((name) => [name, undefined])), {
    tell: sayMeanwhile,
    file,
  })
  const where = file === CONFIG_FILE ? `in ${CONFIG_FILE}` : 'for this machine'
  terminal.say(changed ? `${names.join(', ')} removed` : `not set ${where}: nothing to do`)
}

/** The name of a setting that is known, may be known, or is in a file; any other is a problem. */
export function knownName({ known, sources }: Asked, key: string, problems: Problems): string {
  const name = known.nameOf(key.toUpperCase())
  const isInFile = sources.some(
    (source) => (source.name === CONFIG_FILE || source.name === 'machine') && own(source.texts, name) !== undefined,
  )
  const why = isInFile ? undefined : known.refusalAsUnknown(name)
  if (why !== undefined) problems.add(why, 'archivebox-ts config list shows all settings')
  return name
}

const verbOf = (file: SettingsFile) => (file === CONFIG_FILE ? 'config' : 'machine')

function refusalHere({ known }: Asked, name: string, text: string, file: SettingsFile): string | undefined {
  if (name === 'DATA_DIR') return 'DATA_DIR cannot be set in the data dir that it names: set it in the environment'
  if (text.trim() === '') return `${name} takes a value: archivebox-ts ${verbOf(file)} unset ${name} removes it`
  return known.refusal(name, text)
}

function pairsIn(words: readonly string[], file: SettingsFile): (readonly [key: string, text: string])[] {
  const [key = '', text] = words
  if (words.length === 2 && text !== undefined && !key.includes('=')) return [[key, text]]
  return words.map((word) => {
    const match = /^([^=]+)=(.*)$/s.exec(word)
    if (!match) throw new UsageError(`${verbOf(file)} set takes KEY VALUE, or KEY=VALUE: "${word}" is neither`)
    return [match[1]!, match[2]!] as const
  })
}

/** A value as a person would write it in TOML: a number, true or false, a list; text that reads otherwise is quoted. */
function tomlValue(text: string, about: Known | undefined): TomlValue {
  const value = about?.kind.read(text) as TomlValue | undefined
  const isKept = value !== undefined && isDeepStrictEqual(about?.kind.read(written(value)), value)
  // A size such as 50mb is a number of bytes, but nobody writes it like that.
  const isSaid = typeof value !== 'number' || Number.isFinite(Number(text))
  return isKept && isSaid ? value : text
}
