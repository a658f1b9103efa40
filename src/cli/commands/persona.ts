import { deletePersonas, namesOf, newPersona, setPersona } from '../../app/personas/change.ts'
import { checkName, findPersona } from '../../app/personas/find.ts'
import { allPersonas, type BrokenPersona, type PersonaRecord, personaRecord } from '../../app/personas/record.ts'
import { oneLine } from '../../base/clean.ts'
import { AppError } from '../../base/errors.ts'
import type { Persona } from '../../browse/persona/persona.ts'
import { many } from '../format.ts'
import { personasOf } from '../persona/find.ts'
import { personaSettings } from '../persona/settings.ts'
import { type PrintOptions, printerOf } from '../records/print.ts'
import { onStdout } from '../screen/palette.ts'
import type { Column } from '../screen/table.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `persona list` */
export async function personaList(asked: Asked, verb: PrintOptions): Promise<void> {
  const printer = printerOf(asked, { columns: COLUMNS, idField: 'name' }, verb)
  const { personas, active } = personasOf(asked)
  const all = (await allPersonas(personas)).map(
    (each): Row => ('problem' in each ? { type: 'Persona', ...each } : personaRecord(each, active)),
  )
  await printer.list(all, 'no persona yet; persona new NAME or persona login NAME URL creates one')
}

type Row = PersonaRecord | (Pick<PersonaRecord, 'type'> & BrokenPersona)

const good = (row: Row, text: (record: PersonaRecord) => string) => ('problem' in row ? '' : text(row))

const COLUMNS: readonly Column<Row>[] = [
  { name: 'persona', value: (row) => `${oneLine(row.name)}${good(row, ({ active }) => (active ? ' (active)' : ''))}` },
  { name: 'cookies', value: (row) => good(row, ({ cookies }) => String(cookies)), right: true, rank: 1 },
  {
    name: 'expired',
    value: (row) => good(row, ({ expired }) => (expired > 0 ? String(expired) : '')),
    style: (_, palette) => palette.yellow,
    right: true,
    optional: true,
  },
  { name: 'next expires', value: (row) => good(row, ({ expires }) => dayOf(expires)), optional: true, rank: 3 },
  { name: 'for', value: (row) => good(row, hostsOf), optional: true, cut: 'end', rank: 2 },
  {
    name: 'trouble',
    value: (row) => ('problem' in row ? oneLine(row.problem) : ''),
    style: (_, palette) => palette.red,
    optional: true,
    cut: 'end',
  },
]

const dayOf = (time: Date | null) => time?.toISOString().slice(0, 10) ?? ''
const hostsOf = ({ domains, headers }: PersonaRecord) =>
  oneLine([...new Set([...domains.map(({ domain }) => domain), ...Object.keys(headers)])].join(', '))

/** `persona show NAME...` */
export async function personaShow(asked: Asked, names: readonly string[]): Promise<void> {
  const { personas, active } = personasOf(asked)
  for (const name of names) show(asked, await findPersona(personas, name), active)
}

function show(asked: Asked, persona: Persona, active: string): void {
  const record = personaRecord(persona, active)
  if (wantsJson(asked)) printRecord(record)
  else process.stdout.write(inFull(record))
}

/** `persona new NAME [KEY=VALUE...]` */
export async function personaNew(asked: Asked, name: string, pairs: readonly string[]): Promise<void> {
  const { personas, active } = personasOf(asked)
  checkName(name)
  const persona = await newPersona(personas, name, personaSettings(asked, pairs))
  if (wantsJson(asked)) return printRecord(personaRecord(persona, active))
  terminal.say(`persona ${name}: ${persona.files.folder}`)
  terminal.say(`archivebox-ts persona login ${name} URL logs in, persona import ${name} FILE imports cookies`)
}

/** `persona set NAME KEY=VALUE...`: all of them, or none when one is wrong. */
export async function personaSet(asked: Asked, name: string, pairs: readonly string[]): Promise<void> {
  const { personas } = personasOf(asked)
  await findPersona(personas, name)
  const settings = personaSettings(asked, pairs)
  await setPersona(personas, name, settings)
  terminal.say(`${[...settings.keys()].join(', ')} set; applies to crawls added from now on`)
}

/** `persona delete NAME...` */
export async function personaDelete(asked: Asked, names: readonly string[], { yes }: { yes?: boolean }): Promise<void> {
  const { personas } = personasOf(asked)
  const found = await namesOf(personas, names)
  if (!yes)
    throw new AppError(`nothing was changed: this would delete ${found.join(', ')} with cookies and logins`, {
      hint: '--yes does it',
    })
  deletePersonas(personas, found)
  terminal.say(`deleted ${found.join(', ')}; queued crawls that use it will fail`)
}

function inFull(record: PersonaRecord): string {
  const { name, active, folder, settings, headers, domains, storage } = record
  const rows: readonly (readonly [string, string])[] = [
    ['persona', `${name}${active ? ' (active: used by crawls that name none)' : ''}`],
    ['folder', folder],
    ...Object.entries(settings).map(([key, value]) => ['setting', `${key}=${value}`] as const),
    ...Object.entries(headers).map(([host, names]) => ['headers', `${host}: ${names.join(', ')}`] as const),
    ...domains.map((each) => ['cookies', cookiesLine(each)] as const),
    ...storage.map((origin) => ['storage', origin] as const),
  ]
  const isRepeated = (at: number) => at > 0 && rows[at]![0] === rows[at - 1]![0]
  const lines = rows.map(([key, text], at) => `${onStdout.dim((isRepeated(at) ? '' : key).padEnd(8))} ${oneLine(text)}`)
  return `${lines.join('\n')}\n`
}

function cookiesLine({ domain, cookies, expired, expires }: PersonaRecord['domains'][number]): string {
  const parts = [many(cookies, 'cookie'), expires && `next expires ${dayOf(expires)}`]
  const over = expired.length === 0 ? '' : `; expired: ${expired.join(', ')}`
  return `${domain}: ${parts.filter(Boolean).join(', ')}${over}`
}
