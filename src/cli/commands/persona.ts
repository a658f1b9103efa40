import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { checkName, findPersona } from '../../app/personas/find.ts'
import { allPersonas, type BrokenPersona, type PersonaRecord, personaRecord } from '../../app/personas/record.ts'
import { oneLine } from '../../base/clean.ts'
import { editConfig } from '../../base/config-edit.ts'
import { AppError, UsageError } from '../../base/errors.ts'
import { PERSONA_FILE } from '../../base/persona/files.ts'
import type { Persona } from '../../base/persona/persona.ts'
import { makePersona } from '../../base/persona/write.ts'
import { many } from '../format.ts'
import { personasOf } from '../persona/find.ts'
import { personaSettings } from '../persona/settings.ts'
import { onStdout } from '../screen/palette.ts'
import { type Column, table } from '../screen/table.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `persona list` */
export async function personaList(asked: Asked): Promise<void> {
  const { personas, active } = personasOf(asked)
  const all = (await allPersonas(personas)).map((each) => ('problem' in each ? each : personaRecord(each, active)))
  if (wantsJson(asked)) return all.forEach((each) => void printRecord({ type: 'Persona', ...each }))
  if (all.length === 0)
    return terminal.say('no persona yet; persona login NAME URL makes one, and so does persona new NAME')
  process.stdout.write(await table(COLUMNS, all, { width: process.stdout.columns || 80, palette: onStdout }))
}

type Row = PersonaRecord | BrokenPersona

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
  const changes = personaSettings(asked, pairs)
  if ((await allPersonas(personas)).some((each) => each.name.toLowerCase() === name.toLowerCase()))
    throw new UsageError(`there is a persona "${name}" already`, `archivebox-ts persona show ${name}`)
  const { folder } = makePersona(personas, name)
  await editConfig(folder, changes, PERSONA_FILE)
  const persona = await findPersona(personas, name)
  if (wantsJson(asked)) printRecord(personaRecord(persona, active))
  else {
    terminal.say(`persona ${name}: ${folder}`)
    terminal.say(`archivebox-ts persona login ${name} URL logs in, persona import ${name} FILE takes cookies over`)
  }
}

/** `persona set NAME KEY=VALUE...`: all of them, or none when one is wrong. */
export async function personaSet(asked: Asked, name: string, pairs: readonly string[]): Promise<void> {
  const { personas } = personasOf(asked)
  const { files } = await findPersona(personas, name)
  const changes = personaSettings(asked, pairs)
  await editConfig(files.folder, changes, PERSONA_FILE)
  terminal.say(`${[...changes.keys()].join(', ')} set; crawls that are added from now on take it up`)
}

/** `persona delete NAME...` */
export async function personaDelete(asked: Asked, names: readonly string[], { yes }: { yes?: boolean }): Promise<void> {
  const { personas } = personasOf(asked)
  const found = await Promise.all(names.map((name) => anyPersona(personas, name)))
  if (!yes)
    throw new AppError(`nothing was changed: this would delete ${found.join(', ')} with cookies and logins`, {
      hint: '--yes does it',
    })
  for (const name of found) rmSync(join(personas, name), { recursive: true, force: true })
  terminal.say(`deleted ${found.join(', ')}; what is queued with it will fail`)
}

/** The name of a persona that is there; its files may be broken. */
async function anyPersona(personas: string, name: string): Promise<string> {
  const isBroken = (await allPersonas(personas)).some((each) => each.name === name && 'problem' in each)
  return isBroken ? name : (await findPersona(personas, name)).name
}

function inFull(record: PersonaRecord): string {
  const { name, active, folder, settings, headers, domains, storage } = record
  const rows: readonly (readonly [string, string])[] = [
    ['persona', `${name}${active ? ' (active: of crawls that name none)' : ''}`],
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
