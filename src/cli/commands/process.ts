import { eachProcess, listProcesses, type ProcessFilters } from '../../db/process-rows.ts'
import type { ProcessRow } from '../../db/processes.ts'
import { processRecord } from '../../db/records.ts'
import { hooksAtWork } from '../../db/results.ts'
import { presentRows } from '../../processes/presence.ts'
import { ago, shortId, TABLE_LINES } from '../format.ts'
import { withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { oneLine } from '../screen/clean.ts'
import { cutEnd } from '../screen/fit.ts'
import { onStdout } from '../screen/palette.ts'
import { type Column, table } from '../screen/table.ts'
import { printRecord, readerWantsMore, terminal, wantsJson } from '../terminal.ts'

/** What a process is says nothing in fewer columns. */
const LEAST = 12

/** `process list`: rows of this machine and data dir, newest first; only live ones unless asked otherwise. */
export async function processList(options: GlobalOptions, verb: ProcessFilters): Promise<void> {
  await withHome(options, async (home) => {
    if (wantsJson(options)) {
      return await eachProcess(home, verb, (row) => {
        printRecord(processRecord(row))
        return readerWantsMore()
      })
    }
    const rows = await listProcesses(home, verb, TABLE_LINES + 1)
    const shown = rows.slice(0, TABLE_LINES)
    const width = process.stdout.columns || 80
    process.stdout.write(await table(COLUMNS, shown, { width, palette: onStdout }))
    if (shown.length < rows.length) terminal.say(`these are the newest ${TABLE_LINES}; --json shows all`)
  })
}

/** `process tree`: who started whom, of what is alive. */
export async function processTree(options: GlobalOptions): Promise<void> {
  await withHome(options, async (home) => {
    const rows = await presentRows(home)
    if (wantsJson(options)) return printAll(rows)
    if (rows.length === 0) return terminal.say('nothing runs')
    const hooks = await hooksAtWork(home.db)
    const draw = (parent: string | null, indent: string) => {
      const level = rows.filter((row) =>
        parent === null ? !rows.some((other) => other.id === row.parent_id) : row.parent_id === parent,
      )
      for (const [index, row] of level.entries()) {
        const last = index === level.length - 1
        const branch = parent === null ? '' : `${indent}${last ? '└─ ' : '├─ '}`
        const about = `pid ${row.pid ?? '-'}, ${ago(row.started_at)}`
        const room = (process.stdout.columns || 80) - branch.length
        const what = cutEnd(oneLine(describe(row, hooks.get(row.id))), Math.max(LEAST, room - about.length - 1))
        process.stdout.write(`${branch}${what}${room - what.length > about.length ? ` ${onStdout.dim(about)}` : ''}\n`)
        draw(row.id, parent === null ? '' : `${indent}${last ? '   ' : '│  '}`)
      }
    }
    draw(null, '')
  })
}

/** What a process is, in words. */
export function describe(row: ProcessRow, hook?: string): string {
  if (row.worker_type === 'worker_runner')
    return `runner, leading (term ${row.term}${row.status === 'draining' ? ', draining' : ''})`
  if (row.worker_type === 'runner_waiting') return row.standby ? 'runner, standing by' : 'runner, waiting'
  if (row.process_type === 'worker') return `${row.worker_type} worker`
  if (row.process_type === 'hook') return `hook ${hook ?? hookName(row.cmd)}`
  return row.process_type
}

function hookName(cmd: readonly string[]): string {
  const name = cmd.map((word) => word.split('/').at(-1) ?? '').find((word) => word.startsWith('on_'))
  return name ?? 'host (idle)'
}

const COLUMNS: readonly Column<ProcessRow>[] = [
  { name: 'pid', value: ({ pid }) => String(pid ?? '-'), right: true },
  { name: 'what', value: (row) => oneLine(describe(row)), cut: 'end' },
  { name: 'status', value: ({ status }) => status },
  { name: 'since', value: ({ started_at }) => ago(started_at), right: true, rank: 2 },
  { name: 'exit', value: exitOf, rank: 3, optional: true },
  { name: 'id', value: ({ id }) => shortId(id), rank: 1 },
]

function exitOf({ exit_signal: signal, exit_code: code }: ProcessRow): string {
  return signal ?? (code === null ? '' : String(code))
}

function printAll(rows: readonly ProcessRow[]): void {
  for (const row of rows) printRecord(processRecord(row))
}
