import { findIds } from '../../app/ids.ts'
import { oneLine } from '../../base/clean.ts'
import { readMachineFile } from '../../base/machine-file.ts'
import { binariesOf } from '../../db/binaries.ts'
import { type ListedMachine, machines } from '../../db/machines.ts'
import { machineRecord } from '../../db/records.ts'
import { ago } from '../format.ts'
import { withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { ID } from '../records/list-kind.ts'
import { type PrintOptions, printerOf } from '../records/print.ts'
import { onStdout } from '../screen/palette.ts'
import type { Column } from '../screen/table.ts'
import { printRecord, wantsJson } from '../terminal.ts'

/** `machine list`: every machine that has worked on this database. */
export async function machineList(options: GlobalOptions, verb: PrintOptions): Promise<void> {
  const printer = printerOf(options, { columns: COLUMNS }, verb)
  await withHome(options, async (home) =>
    printer.list((await machines(home.db)).map((machine) => machineRecord(machine, home))),
  )
}

/** `machine show [ID...]`: each with its settings and the programs that were looked for there. */
export async function machineShow(options: GlobalOptions, given: readonly string[]): Promise<void> {
  await withHome(options, async (home) => {
    const ids = given.length === 0 ? [home.machineId] : await findIds(home, MACHINE, given)
    for (const machine of (await machines(home.db)).filter(({ id }) => ids.includes(id))) {
      const programs = (await binariesOf(home.db, machine.id)).map(({ name, status, abspath, version, message }) => ({
        name,
        status,
        path: abspath || null,
        version: version || null,
        message: message || null,
      }))
      const shown = { ...machineRecord(machine, home), settings: await settingsOf(machine, options), programs }
      if (wantsJson(options)) printRecord(shown)
      else process.stdout.write(inFull(shown))
    }
  })
}

const MACHINE = { noun: 'machine', table: 'machine' } as const

/** The machine's own settings as written; secrets as `***`. */
async function settingsOf({ guid }: ListedMachine, { dataDir, known }: GlobalOptions) {
  const texts = Object.entries(await readMachineFile(dataDir, guid))
  return Object.fromEntries(texts.map(([name, text]) => [name, known.isSecret(name) ? '***' : text]))
}

const COLUMNS: readonly Column<ReturnType<typeof machineRecord>>[] = [
  { name: 'machine', value: ({ hostname, here }) => `${oneLine(hostname)}${here ? ' (here)' : ''}`, cut: 'end' },
  { name: 'system', value: ({ os_platform, os_arch }) => `${os_platform} ${os_arch}`, rank: 3 },
  { name: 'processes', value: ({ processes }) => String(processes), right: true, rank: 2 },
  { name: 'runner', value: ({ runner }) => (runner ? 'leads' : '-'), rank: 1 },
  {
    name: 'heard of',
    value: (each) => (each.heartbeat_at ? `${ago(each.heartbeat_at)} ago` : '-'),
    right: true,
    rank: 4,
  },
  ID,
]

type Shown = ReturnType<typeof machineRecord> & {
  readonly settings: Readonly<Record<string, string>>
  readonly programs: readonly Program[]
}
type Program = Readonly<Record<'name' | 'status', string> & Record<'path' | 'version' | 'message', string | null>>

function inFull({ hostname, id, os_platform, os_arch, here, processes, runner, settings, programs }: Shown): string {
  const rows: readonly (readonly [string, string])[] = [
    ['machine', `${hostname}${here ? ' (here)' : ''}`],
    ['id', id],
    ['system', `${os_platform} ${os_arch}`],
    ['runs', `${processes} of our processes${runner ? ', the leader among them' : ''}`],
    ...Object.entries(settings).map(([name, text]) => ['setting', `${name}=${text}`] as const),
    ...programs.map((program) => ['program', `${program.name}: ${whereIs(program)}`] as const),
  ]
  return rows.map(([key, text]) => `${onStdout.dim(key.padEnd(8))} ${oneLine(text)}\n`).join('')
}

function whereIs({ path, version, message }: Program): string {
  return path === null ? (message ?? 'not looked for yet') : `${version ?? ''} (${path})`.trim()
}
