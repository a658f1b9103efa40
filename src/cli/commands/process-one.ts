import { join } from 'node:path'
import { findIds, isPartOfId } from '../../app/ids.ts'
import { doingOf } from '../../app/status/doing.ts'
import { oneLine } from '../../base/clean.ts'
import { AppError, UsageError } from '../../base/errors.ts'
import { leadsOut } from '../../base/leads-out.ts'
import { LinesOf } from '../../base/log-lines.ts'
import type { Home } from '../../db/home.ts'
import { pagesInWork } from '../../db/pages-in-work.ts'
import { rowById } from '../../db/process-rows.ts'
import { isRunner, type LiveRow, type ProcessRow } from '../../db/processes.ts'
import { processRecord } from '../../db/records.ts'
import { presenceOf, rowByPid } from '../../processes/presence.ts'
import { signalRow, terminate, waitForEnd } from '../../processes/registry/end.ts'
import { follow, tail } from '../../processes/registry/log-tail.ts'
import { ancestorsOf, childrenOf, descendantsOf } from '../../processes/registry/relatives.ts'
import { ago } from '../format.ts'
import { runnerLog, withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { onStdout } from '../screen/palette.ts'
import { stopWithWrapper } from '../stop-with-wrapper.ts'
import { printRecord, printText, terminal, wantsJson } from '../terminal.ts'

const LINES = 50
/** The last lines that are shown before following. */
const LINES_BEFORE = 10
const PATIENCE_MS = 5_000

/** `process show ID|PID`: one row, whether its process is alive, and its parents and children. */
export async function processShow(options: GlobalOptions, which: string): Promise<void> {
  await withHome(options, async (home) => {
    const row = await find(home, which)
    if (wantsJson(options)) return printRecord(processRecord(row))
    const ancestors = await ancestorsOf(home, row)
    const children = await childrenOf(home, row.id)
    const below = await descendantsOf(home, row.id)
    const presence = await presenceOf(home, row)
    const line = (key: string, value: string | null) => {
      if (value) process.stdout.write(`${onStdout.dim(key.padEnd(12))} ${oneLine(value)}\n`)
    }
    const { what, pages } = doingOf(row, await pagesInWork(home.db))
    line('what', what)
    line('id', row.id)
    line('pid', row.pid === null ? null : String(row.pid))
    line('status', `${row.status}${row.ended_at ? '' : ` (${presence})`}`)
    line('started', row.started_at ? `${ago(row.started_at)} ago` : null)
    line('ended', row.ended_at ? `${ago(row.ended_at)} ago, ${endOf(row)}` : null)
    line('containment', row.containment)
    line('command', row.cmd.join(' '))
    line('in', row.pwd)
    for (const url of pages.length > 0 ? pages.map((page) => page.url) : [row.url]) line('url', url)
    line('started by', ancestors.map(nameOf).join(', by '))
    if (below.length > 0) line('below it', `${children.length} direct, ${below.length} in all`)
  })
}

/**
 * `process logs ID|PID`: the end of its output; with `follow`, everything that comes until it ends. Runners and workers
 * write to the runner's log: for a worker its own lines are shown, for a runner all of it.
 */
export async function processLogs(
  options: GlobalOptions,
  which: string,
  verb: { follow?: boolean; stderr?: boolean },
): Promise<void> {
  await withHome(options, async (home) => {
    const row = await find(home, which)
    const log = verb.stderr ? row.stderr_log : row.stdout_log
    if (log !== null && leadsOut(log)) throw new AppError(`it has no log in this data dir: ${log}`)
    const file = log === null ? runnerLog(home.dataDir) : join(home.dataDir, log)
    const lines = verb.follow ? LINES_BEFORE : LINES
    const own = row.process_type === 'worker' ? new LinesOf(row.id) : undefined
    const before = tail(file, own ? Number.POSITIVE_INFINITY : lines)
    const said = own ? lastLines(own.take(before?.text ?? ''), lines) : before?.text
    if (said) printText(said)
    else if (!verb.follow) terminal.say(`it printed nothing${verb.stderr ? ' to stderr' : ''}`)
    if (!verb.follow) return
    stopWithWrapper()
    const isOver = async () => (await presenceOf(home, (await rowById(home, row.id)) ?? row)) === 'gone'
    for await (const text of follow(file, before?.end ?? 0, isOver)) printText(own ? own.take(text) : text)
  })
}

/**
 * `process kill ID|PID`: asks it to end, by its exact identity. A hook that does not end is killed after 5 s, as at
 * its timeout; runners and workers drain for as long as their hooks may take. `force` ends it at once, with everything
 * below it. Exit code 1 when it is still there.
 */
export async function processKill(options: GlobalOptions, which: string, verb: { force?: boolean }): Promise<void> {
  await withHome(options, async (home) => {
    const row = await find(home, which)
    const what = nameOf(row)
    const presence = await presenceOf(home, row)
    if (presence === 'unseen') throw new AppError(`${what} runs in another container`, { hint: 'end it from in there' })
    if (row.ended_at || presence === 'gone') throw new AppError(`${what} is no longer running`)
    if (verb.force || row.process_type === 'hook') await terminate(home, row, verb.force ? 0 : PATIENCE_MS)
    else if (!(await signalRow(row, 'SIGTERM')))
      throw new AppError(`${what} cannot be signalled`, { hint: 'it belongs to another user, or is this command' })
    const end = await waitForEnd(home, row, PATIENCE_MS)
    if (!end) {
      const hint =
        isRunner(row) || row.process_type === 'worker' ? 'its hooks may finish; --force kills them' : 'use --force'
      throw new AppError(`${what} was asked to end, but is still there`, { hint })
    }
    const closed = (await rowById(home, row.id)) ?? row
    if (wantsJson(options)) printRecord(processRecord(closed))
    else process.stdout.write(`${what}: ${endOf(closed)}\n`)
  })
}

function lastLines(text: string, count: number): string {
  return text
    .split('\n')
    .slice(-count - 1)
    .join('\n')
}

/** The row for a pid, an id, or the beginning or end of an id. Throws UsageError when there is none. */
async function find(home: Home, which: string): Promise<LiveRow> {
  const isPid = /^[1-9]\d{0,9}$/.test(which)
  if (!isPid && !isPartOfId(which))
    throw new UsageError(
      `neither the id of a process nor a pid: ${which}`,
      'archivebox-ts process list --all shows both',
    )
  const ofPid = isPid ? await rowByPid(home, Number(which)) : undefined
  const isId = ofPid === undefined && isPartOfId(which)
  const row = isId ? await rowById(home, (await findIds(home, PROCESS, [which]))[0]!) : ofPid
  if (!row)
    throw new UsageError(`no process ${which} of this data dir is known`, 'archivebox-ts process list --all shows them')
  return row
}

const PROCESS = { noun: 'process', table: 'process' } as const

const nameOf = (row: ProcessRow) => `${doingOf(row, []).what} (pid ${row.pid ?? '-'})`

function endOf(row: ProcessRow): string {
  if (row.exit_signal) return `ended by ${row.exit_signal}`
  return row.exit_code === null ? 'nobody saw how it ended' : `exit code ${row.exit_code}`
}
