import pc from 'picocolors'
import { eachProcess, listProcesses, type ProcessFilters } from '../../db/process-rows.ts'
import type { ProcessRow } from '../../db/processes.ts'
import { processRecord } from '../../db/records.ts'
import { hooksAtWork } from '../../db/results.ts'
import { presentRows } from '../../processes/presence.ts'
import { ago, TABLE_LINES, table } from '../format.ts'
import { withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `process list`: rows of this machine and data dir, newest first; only live ones unless asked otherwise. */
export async function processList(options: GlobalOptions, verb: ProcessFilters): Promise<void> {
  await withHome(options, async (home) => {
    if (wantsJson(options)) {
      return await eachProcess(home, verb, (row) => {
        printRecord(processRecord(row))
        return !process.stdout.destroyed // A reader that has seen enough.
      })
    }
    const rows = await listProcesses(home, verb, TABLE_LINES + 1)
    const shown = rows.slice(0, TABLE_LINES)
    process.stdout.write(table(['pid', 'what', 'status', 'since', 'exit', 'id'], shown.map(listLine)))
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
        process.stdout.write(
          `${branch}${describe(row, hooks.get(row.id))} ${pc.dim(`pid ${row.pid ?? '-'}, ${ago(row.started_at)}`)}\n`,
        )
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

function listLine(row: ProcessRow): string[] {
  const exit = row.exit_signal ?? (row.exit_code === null ? '' : String(row.exit_code))
  return [String(row.pid ?? '-'), describe(row), row.status, ago(row.started_at), exit, row.id]
}

function printAll(rows: readonly ProcessRow[]): void {
  for (const row of rows) printRecord(processRecord(row))
}
