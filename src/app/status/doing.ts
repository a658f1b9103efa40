import { oneLine } from '../../base/clean.ts'
import type { PageInWork } from '../../db/pages-in-work.ts'
import type { ProcessRow } from '../../db/processes.ts'

/** What a process is, and what it does now. */
export interface Doing {
  readonly what: string
  /** When it began that: a host has run for longer than the hook in it. */
  readonly since: Date | null
  /** The page of a hook; the pages of a worker. */
  readonly pages: readonly { readonly id: string; readonly url: string }[]
}

/** @param inWork the pages in work; those of hooks that have ended are in their rows */
export function doingOf(row: ProcessRow, inWork: readonly PageInWork[]): Doing {
  const hosted = inWork.flatMap((page) => page.hooks.map((hook) => ({ page, hook })))
  const here = isHook(row) ? hosted.find(({ hook }) => hook.process_id === row.id) : undefined
  const pages = here ? [here.page] : inWork.filter(({ worker_id: id }) => id === row.id)
  const ofRow = row.snapshot_id !== null && row.url !== null ? [{ id: row.snapshot_id, url: oneLine(row.url) }] : []
  return {
    what: oneLine(describe(row, here?.hook.hook_name)),
    since: here && row.snapshot_id === null ? new Date(Date.now() - here.hook.seconds * 1_000) : row.started_at,
    pages: ofRow.length > 0 ? ofRow : pages.map(({ snapshot_id: id, url }) => ({ id, url: oneLine(url) })),
  }
}

/** Whether hooks run in this process. */
export const isHook = (row: Pick<ProcessRow, 'process_type'>) => row.process_type === 'hook'

function describe(row: ProcessRow, hook: string | undefined): string {
  if (row.worker_type === 'worker_runner')
    return `runner, leading (term ${row.term}${row.status === 'draining' ? ', draining' : ''})`
  if (row.worker_type === 'runner_waiting') return row.standby ? 'runner, standing by' : 'runner, waiting'
  if (row.process_type === 'worker') return `${row.worker_type} worker`
  if (!isHook(row)) return row.process_type
  const file = hook ?? row.cmd.map((word) => word.split('/').at(-1) ?? '').find((word) => word.startsWith('on_'))
  return file === undefined ? 'idle hook host' : `hook ${file.replace(FRAME_OF_NAME, '$1')}`
}

/** What all names of hooks have around the part that tells them apart: `on_Snapshot__51_screenshot.js`. */
const FRAME_OF_NAME = /^on_[A-Za-z]+__(?:\d+_)?(.+)\.\w+$/
