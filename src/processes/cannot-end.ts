import { readFileSync } from 'node:fs'
import type { ProcessRow } from '../db/processes.ts'
import { mayBeSignalled } from './family.ts'
import { marksIn } from './marks.ts'
import { orNothing, type ProcEntry } from './proc.ts'

/** Processes survive SIGKILL, or cannot be signalled. The message names each, with the reason and what to do. */
export class CannotEnd extends Error {
  override readonly name: string = 'CannotEnd'
  readonly survivors: readonly ProcEntry[]

  constructor(survivors: readonly ProcEntry[]) {
    super(`cannot end ${survivors.map(whyItStays).join('; ')}`)
    this.survivors = survivors
  }
}

/**
 * The rows whose process is among the survivors, or has one of them in its session or under its mark. A survivor whose
 * own row is closed counts as its worker's.
 */
export function rowsOfSurvivors<Row extends Pick<ProcessRow, 'id' | 'pid'>>(
  survivors: readonly ProcEntry[],
  rows: readonly Row[],
): Row[] {
  const held = new Set<Row>()
  for (const survivor of survivors) {
    const mark = marksIn(survivor.pid)
    const pids = [survivor.pid, survivor.session]
    const own = rows.filter(({ id, pid }) => id === mark.process || (pid !== null && pid > 0 && pids.includes(pid)))
    for (const row of own.length > 0 ? own : rows.filter(({ id }) => id === mark.worker)) held.add(row)
  }
  return rows.filter((row) => held.has(row))
}

function whyItStays({ pid, state }: ProcEntry): string {
  const name = read(pid, 'comm').replace(/[^ -~]/g, '?')
  const who = name === '' ? `pid ${pid}` : `pid ${pid} (${name})`
  if (!mayBeSignalled({ pid })) {
    const owner = /^Uid:\s+(\d+)/m.exec(read(pid, 'status'))?.[1] ?? 'another'
    return `${who}: it belongs to user ${owner}, and we cannot signal it; end it with: sudo kill -9 ${pid}`
  }
  if (state !== 'D') return `${who}: it survives SIGKILL`
  const where = read(pid, 'wchan')
  const at = where === '' || where === '0' ? '' : ` (in ${where})`
  const end = 'ends as soon as the disk, mount or frozen group that it waits for answers, or with the machine'
  return `${who}: it is in uninterruptible sleep${at} and ${end}`
}

function read(pid: number, file: string): string {
  return orNothing(() => readFileSync(`/proc/${pid}/${file}`, 'utf8').trim(), '')
}
