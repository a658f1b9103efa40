import { isDeepStrictEqual } from 'node:util'
import type { TomlValue } from '../../base/config-edit.ts'
import { CONFIG_FILE, written } from '../../base/config-file.ts'
import { openDataDir } from '../../base/data-dir.ts'
import { UsageError } from '../../base/errors.ts'
import type { Known } from '../../hooks/known-settings.ts'
import { Problems } from '../problems.ts'
import { oneLine } from '../screen/clean.ts'
import { onStderr, onStdout } from '../screen/palette.ts'
import { type Column, table } from '../screen/table.ts'
import { setSettings } from '../set-settings.ts'
import { type SettingRecord, settingRecord, settingRecords } from '../setting-record.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `config list [WORD...]`: settings with their values, and where those come from. */
export async function configList(asked: Asked, words: readonly string[], verb: { changed?: boolean }): Promise<void> {
  openDataDir(asked.dataDir, 'never')
  sayWhatIsWrong(asked.problems)
  const has = (key: string) => words.length === 0 || words.some((word) => key.includes(word.toUpperCase()))
  const isChanged = ({ source }: SettingRecord) => source !== 'default' && !asked.known.knows(source)
  const records = settingRecords(asked).filter((record) => has(record.key) && (!verb.changed || isChanged(record)))
  if (wantsJson(asked)) return records.forEach(printRecord)
  if (records.length === 0) return terminal.say(verb.changed ? 'nothing is set' : 'there is no such setting')
  const width = process.stdout.columns || 80
  process.stdout.write(await table(columnsFor(asked), records, { width, palette: onStdout }))
}

/** `config get KEY...`: each with what it takes and means; with `value` only its value. */
export function configGet(asked: Asked, keys: readonly string[], verb: { value?: boolean }): void {
  openDataDir(asked.dataDir, 'never')
  const problems = new Problems()
  const names = keys.map((key) => known(asked, key, problems))
  problems.refuse()
  sayWhatIsWrong(asked.problems)
  for (const name of names) {
    const record = settingRecord(asked, name)
    if (verb.value) process.stdout.write(`${shown(record.value)}\n`)
    else if (wantsJson(asked)) printRecord(record)
    else process.stdout.write(inFull(asked, record))
  }
}

/** `config set KEY VALUE`, `config set KEY=VALUE...`: all of them, or none when one is wrong. */
export async function configSet(asked: Asked, words: readonly string[]): Promise<void> {
  const dataDir = openDataDir(asked.dataDir, 'never')
  const problems = new Problems()
  const changes = new Map<string, TomlValue>()
  for (const [key, text] of pairsIn(words)) {
    const name = known(asked, key, problems)
    const why = refusalHere(asked, name, text)
    if (why !== undefined) problems.add(why)
    changes.set(name, tomlValue(text, asked.known.all.get(name)))
  }
  problems.refuse()
  await setSettings(asked, dataDir, changes)
  terminal.say(`${[...changes.keys()].join(', ')} set; a runner takes it up when it starts`)
}

/** `config unset KEY...`: removes them from archivebox.toml. */
export async function configUnset(asked: Asked, keys: readonly string[]): Promise<void> {
  const dataDir = openDataDir(asked.dataDir, 'never')
  const problems = new Problems()
  const names = keys.map((key) => known(asked, key, problems))
  problems.refuse()
  const changed = await setSettings(asked, dataDir, new Map(names.map((name) => [name, undefined])))
  terminal.say(changed ? `${names.join(', ')} removed` : `not set in ${CONFIG_FILE}: nothing to do`)
}

/** The name of a setting that is, or may be, known; any other is a problem. */
function known({ known: all, sources }: Asked, key: string, problems: Problems): string {
  const name = all.nameOf(key.toUpperCase())
  const isInFile = sources.some((source) => source.name === CONFIG_FILE && source.texts[name] !== undefined)
  const why = isInFile ? undefined : all.refusalAsUnknown(name)
  if (why !== undefined) problems.add(why, 'archivebox-ts config list shows all settings')
  return name
}

function refusalHere({ known: all }: Asked, name: string, text: string): string | undefined {
  if (name === 'DATA_DIR') return `DATA_DIR says where ${CONFIG_FILE} is: set it in the environment`
  if (text.trim() === '') return `${name} takes a value: archivebox-ts config unset ${name} removes it`
  return all.refusal(name, text)
}

function pairsIn(words: readonly string[]): (readonly [key: string, text: string])[] {
  const [key = '', text] = words
  if (words.length === 2 && text !== undefined && !key.includes('=')) return [[key, text]]
  return words.map((word) => {
    const match = /^([^=]+)=(.*)$/s.exec(word)
    if (!match) throw new UsageError(`config set takes KEY VALUE, or KEY=VALUE: "${word}" is neither`)
    return [match[1]!, match[2]!] as const
  })
}

/** A value as a person would write it in TOML: a number, true or false, a list; what would read otherwise is text. */
function tomlValue(text: string, about: Known | undefined): TomlValue {
  const value = about?.kind.read(text) as TomlValue | undefined
  const isKept = value !== undefined && isDeepStrictEqual(about?.kind.read(written(value)), value)
  // A size such as 50mb is a number of bytes, which nobody would write.
  const isSaid = typeof value !== 'number' || Number.isFinite(Number(text))
  return isKept && isSaid ? value : text
}

function sayWhatIsWrong(problems: Problems): void {
  for (const { message } of problems.all) terminal.say(`${onStderr.yellow('careful:')} ${message}`)
}

const shown = (value: unknown) => (value === null ? '' : oneLine(typeof value === 'string' ? value : written(value)))

/** A default in words, where it alone does not say it. */
function standard({ known: all }: Asked, { key, default: given }: SettingRecord): string {
  const about = all.all.get(key)
  return about?.standardIs?.replaceAll('`', '') ?? about?.fallback ?? shown(given)
}

function columnsFor(asked: Asked): readonly Column<SettingRecord>[] {
  const isDefault = ({ source }: SettingRecord) => source === 'default'
  return [
    { name: 'key', value: ({ key }) => key },
    {
      name: 'value',
      value: (record) => (record.value === null ? standard(asked, record) : shown(record.value)),
      cut: 'end',
      style: (record, palette) => (isDefault(record) ? palette.dim : String),
    },
    { name: 'source', value: ({ source }) => source, rank: 1 },
    { name: 'default', value: (record) => (isDefault(record) ? '' : standard(asked, record)), cut: 'end', rank: 2 },
  ]
}

function inFull(asked: Asked, record: SettingRecord): string {
  const about = asked.known.all.get(record.key)
  const lines = {
    key: record.key,
    value: record.value === null ? standard(asked, record) : shown(record.value),
    source: record.source,
    default: standard(asked, record),
    takes: about?.kind.takes,
    means: about?.means.replaceAll('`', ''),
    'per crawl': about && (about.perCrawl ? `add -c ${record.key}=...` : 'no'),
  }
  const told = Object.entries(lines).filter(([, text]) => text)
  return `${told.map(([name, text]) => `${onStdout.dim(name.padEnd(10))} ${text}`).join('\n')}\n`
}
