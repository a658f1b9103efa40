import { type SettingRecord, settingRecord, settingRecords } from '../../app/settings/setting-record.ts'
import { oneLine } from '../../base/clean.ts'
import type { Setter } from '../../base/config.ts'
import { written } from '../../base/config-file.ts'
import { openDataDir } from '../../base/data-dir.ts'
import { Problems } from '../../base/problems.ts'
import { knownName } from '../edit-settings.ts'
import { type PrintOptions, printerOf } from '../records/print.ts'
import { onStderr, onStdout } from '../screen/palette.ts'
import type { Column } from '../screen/table.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

type ListOptions = PrintOptions & { changed?: boolean }

/** `config list [WORD...]`: settings with their values, and where those come from. */
export async function configList(asked: Asked, words: readonly string[], verb: ListOptions): Promise<void> {
  const printer = printerOf(asked, { columns: columnsFor(asked), idField: 'key' }, verb)
  openDataDir(asked.dataDir, 'never')
  sayWhatIsWrong(asked.problems)
  const has = (key: string) => words.length === 0 || words.some((word) => key.includes(word.toUpperCase()))
  const isChanged = ({ source }: SettingRecord) => source !== 'default' && !asked.known.knows(source)
  const records = settingRecords(asked).filter((record) => has(record.key) && (!verb.changed || isChanged(record)))
  await printer.list(records, verb.changed ? 'nothing is set' : 'no setting matches')
}

/** `config get KEY...`: each with its value, what it accepts and what it means; with `value` only its value. */
export function configGet(asked: Asked, keys: readonly string[], verb: { value?: boolean }): void {
  openDataDir(asked.dataDir, 'never')
  const problems = new Problems()
  const names = keys.map((key) => knownName(asked, key, problems))
  problems.refuse()
  sayWhatIsWrong(asked.problems)
  for (const name of names) {
    const record = settingRecord(asked, name)
    if (verb.value) process.stdout.write(`${shown(record.value)}\n`)
    else if (wantsJson(asked)) printRecord(record)
    else process.stdout.write(inFull(asked, record))
  }
}

function sayWhatIsWrong(problems: Problems): void {
  for (const { message } of problems.all) terminal.say(`${onStderr.yellow('warning:')} ${message}`)
}

const shown = (value: unknown) => (value === null ? '' : oneLine(typeof value === 'string' ? value : written(value)))

/** A default in words, where the value alone does not tell. */
function standard({ known: all }: Asked, { key, default: given }: SettingRecord): string {
  const about = all.all.get(key)
  return about?.standardIs?.replaceAll('`', '') ?? about?.fallback ?? shown(given)
}

/** Who may set a setting, in words. */
const SET_BY: Readonly<Record<Setter, string>> = {
  page: "anything: a page's row or record, a crawl (add -c), a persona, a machine",
  crawl: "a crawl (add -c, or its row, whoever wrote it), a persona, a machine; not a page's row",
  persona: 'a crawl (add -c), a persona, a machine; no row or record by itself',
  machine: 'a machine: the environment, machine set, config set',
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
    { name: 'set by', value: ({ set_by }) => set_by, rank: 3 },
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
    'set by': SET_BY[record.set_by],
  }
  const told = Object.entries(lines).filter(([, text]) => text)
  return `${told.map(([name, text]) => `${onStdout.dim(name.padEnd(10))} ${text}`).join('\n')}\n`
}
