import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'

/** Whether a row may have this setting. */
export type MayHave = (row: 'page' | 'crawl', name: string, value: string) => boolean

/** A setting that was removed from rows of a backup. */
export interface LeftOutSetting {
  readonly name: string
  readonly value: string
  readonly rows: number
}

/** What was not restored from a backup, since it may be untrusted. */
export interface LeftOut {
  readonly settings: readonly LeftOutSetting[]
  /** How many programs were known where it was made: they are looked up here. */
  readonly binaries: number
  /** Folders of rows outside `archive/`: these rows have new ones. */
  readonly folders: readonly string[]
}

const ROWS = 1_000
/** As many as anybody would read. */
const MOST_FOLDERS = 1_000

type Judge = (row: 'page' | 'crawl', name: string, value: unknown) => boolean
type Fields = Readonly<Record<string, unknown>>

/** A column with settings: which rows have any, and what is left of one; undefined: all. */
interface SettingsColumn {
  readonly table: 'crawl' | 'schedule' | 'snapshot' | 'crawl_detail'
  readonly column: string
  readonly hasAny: RawBuilder<unknown>
  readonly left: (value: unknown, judge: Judge) => unknown
}

const COLUMNS: readonly SettingsColumn[] = [
  { table: 'crawl', column: 'config', hasAny: sql`config ?| '{env,frozen}'`, left: configLeft },
  {
    table: 'schedule',
    column: 'crawl',
    hasAny: sql`crawl -> 'config' ?| '{env,frozen}'`,
    left: (crawl, judge) => changed(fieldsOf(crawl), { config: configLeft(fieldsOf(crawl)['config'], judge) }),
  },
  {
    table: 'snapshot',
    column: 'settings',
    hasAny: sql`settings is not null`,
    left: (settings, judge) => settingsLeft(settings, 'page', judge),
  },
  {
    table: 'crawl_detail',
    column: 'details',
    hasAny: sql`strpos(details, '"settings"') > 0`,
    left: (details, judge) => {
      const lines = String(details).split('\n')
      const left = lines.map((line) => lineLeft(line, judge) ?? line)
      return left.every((line, at) => line === lines[at]) ? undefined : left.join('\n')
    },
  },
]

/** Removes settings that restored rows may not have. @returns each with its value, and how many rows had it */
export async function leaveOutSettings(tx: Database, mayHave: MayHave): Promise<LeftOutSetting[]> {
  const counted = new Map<string, LeftOutSetting>()
  const judge: Judge = (row, name, value) => {
    if (typeof value === 'string' && mayHave(row, name, value)) return true
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
    const key = JSON.stringify([name, text])
    counted.set(key, { name, value: text, rows: (counted.get(key)?.rows ?? 0) + 1 })
    return false
  }
  await eachWithSettings(tx, async ({ table, column, left }, row, value) => {
    const rest = left(value, judge)
    if (rest === undefined) return
    const text = rest === null || typeof rest === 'string' ? rest : JSON.stringify(rest)
    await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${text} where ctid = ${row}::tid`.execute(tx)
  })
  return [...counted.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

/** Calls back with each row that has settings, by its position in the table. */
async function eachWithSettings(
  tx: Database,
  visit: (kept: SettingsColumn, row: string, value: unknown) => Promise<void>,
): Promise<void> {
  for (const kept of COLUMNS) {
    const [at, from] = [sql.ref(kept.column), sql.table(kept.table)]
    // Each row is changed at most once: its position is still the same.
    const { rows: all } = await sql<{ row: string }>`
      select ctid::text as row from ${from} where ${kept.hasAny}`.execute(tx)
    for (let begin = 0; begin < all.length; begin += ROWS) {
      const some = all.slice(begin, begin + ROWS).map(({ row }) => row)
      const { rows } = await sql<{ row: string; value: unknown }>`
        select ctid::text as row, ${at} as value from ${from} where ctid = any(${some}::tid[])`.execute(tx)
      for (const { row, value } of rows) await visit(kept, row, value)
    }
  }
}

/** Every setting of any row, by name. */
export async function settingsOfRows(tx: Database): Promise<(readonly [name: string, value: string])[]> {
  const own: [name: string, value: string][] = []
  await eachWithSettings(tx, async ({ left }, _, value) => {
    left(value, (_, name, one) => typeof one !== 'string' || own.push([name, one]) > 0)
  })
  return own
}

/** Removes the known programs: their paths would be run. @returns how many there were */
export async function leaveOutBinaries(tx: Database): Promise<number> {
  const { numAffectedRows } = await sql`delete from "binary"`.execute(tx)
  return Number(numAffectedRows ?? 0)
}

/**
 * Whether a row's folder is the one that `outputDir` makes for its id. The check of the schema demands less: with it
 * two rows may share one, or one may be inside another, and deleting one row would delete the other's files.
 */
const isOwnFolder = (kind: string) => sql`
  output_dir ~ ${`^archive/${kind}/(elsewhere|[0-9]{8}/[A-Za-z0-9._-]+)/[^/]+$`}
    and output_dir !~ '/\\.{1,2}/' and right(output_dir, 37) = '/' || id`

/** Gives rows with other folders their own. @returns the folders that they had, the first of them */
export async function leaveOutFolders(tx: Database): Promise<string[]> {
  const left: string[] = []
  for (const [table, kind] of [
    ['crawl', 'crawls'],
    ['snapshot', 'snapshots'],
  ] as const) {
    const { rows } = await sql<{ output_dir: string }>`
      select output_dir from ${sql.table(table)} where not (${isOwnFolder(kind)}) limit ${MOST_FOLDERS}`.execute(tx)
    if (rows.length === 0) continue
    await sql`
      update ${sql.table(table)} set output_dir = ${`archive/${kind}/elsewhere/`} || id
      where not (${isOwnFolder(kind)})`.execute(tx)
    left.push(...rows.map(({ output_dir }) => output_dir))
  }
  return left
}

function configLeft(config: unknown, judge: Judge): Fields | undefined {
  const { env, frozen } = fieldsOf(config)
  return changed(fieldsOf(config), {
    env: settingsLeft(env, 'crawl', judge),
    frozen: settingsLeft(frozen, 'crawl', judge, (set) => fieldsOf(set)['value']),
  })
}

function lineLeft(line: string, judge: Judge): string | undefined {
  if (line === '') return undefined
  try {
    const details = fieldsOf(JSON.parse(line))
    const left = changed(details, { settings: settingsLeft(details['settings'], 'page', judge) })
    return left && JSON.stringify(left)
  } catch {
    return '' // A line that is not JSON has no URL.
  }
}

/** What is left of settings by name; undefined: all of them. */
function settingsLeft(
  settings: unknown,
  row: 'page' | 'crawl',
  judge: Judge,
  textOf: (set: unknown) => unknown = (set) => set,
): Fields | undefined {
  const entries = Object.entries(fieldsOf(settings))
  const left = entries.filter(([name, set]) => judge(row, name, textOf(set)))
  return left.length === entries.length ? undefined : Object.fromEntries(left)
}

/** The fields with those that have changed; undefined when none has. */
function changed(fields: Fields, changes: Fields): Fields | undefined {
  const made = Object.entries(changes).filter(([, value]) => value !== undefined)
  return made.length === 0 ? undefined : { ...fields, ...Object.fromEntries(made) }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}
