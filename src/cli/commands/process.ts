import { listProcesses } from '../../app/lists.ts'
import { type Doing, doingOf, isHook } from '../../app/status/doing.ts'
import { oneLine } from '../../base/clean.ts'
import { UsageError } from '../../base/errors.ts'
import { nodeNames } from '../../db/node-list.ts'
import { pagesInWork } from '../../db/pages-in-work.ts'
import type { ProcessFilters } from '../../db/process-rows.ts'
import { LIVE_STATUSES, type ProcessRow } from '../../db/processes.ts'
import { processRecord } from '../../db/records.ts'
import { presentRows } from '../../processes/presence.ts'
import { ago } from '../format.ts'
import { withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { ID, type ListKind } from '../records/list-kind.ts'
import { type PrintOptions, printerOf } from '../records/print.ts'
import { cutEnd, cutUrl } from '../screen/fit.ts'
import { onStdout } from '../screen/palette.ts'
import type { Column } from '../screen/table.ts'
import { loadWidths, widthOf } from '../screen/width.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** Cells that are cut shorter than this are of no use. */
const LEAST = { what: 12, url: 24 }

/** `process list`: rows of this machine and data dir, newest first; only live ones unless asked otherwise. */
export async function processList(options: GlobalOptions, verb: ProcessFilters & PrintOptions): Promise<void> {
  if (verb.allNodes && (verb.all || (verb.status !== undefined && !LIVE_STATUSES.some((live) => live === verb.status))))
    throw new UsageError('--all-nodes shows what runs: what has ended is shown by its own node')
  const kind = verb.allNodes ? OF_ALL_NODES : { columns: COLUMNS, record: processRecord }
  const printer = printerOf<Listed>(options, kind, verb)
  await withHome(options, async (home) => {
    const inWork = printer.hasColumns ? await pagesInWork(home.db) : []
    const names = verb.allNodes ? await nodeNames(home.db) : new Map<string, string>()
    await printer.list(async function* (limit) {
      for await (const rows of listProcesses({ home }, { filters: verb, limit }))
        yield rows.map((row) => ({ ...row, ...doingOf(row, inWork), node: names.get(row.data_dir_id) ?? null }))
    })
  })
}

/** `process tree`: the live processes, by who started them, and the pages in work. */
export async function processTree(options: GlobalOptions): Promise<void> {
  await withHome(options, async (home) => {
    const present = await presentRows(home)
    if (wantsJson(options)) return printAll(present)
    if (present.length === 0) return terminal.say('nothing is running')
    const inWork = await pagesInWork(home.db)
    const rows = present.map((row) => ({ ...row, ...doingOf(row, inWork) }))
    await loadWidths(rows.flatMap(({ pages }) => pages.map(({ url }) => url)))
    const ofHooks = new Set(rows.filter(isHook).flatMap(({ pages }) => pages.map(({ id }) => id)))
    const draw = (parent: string | null, indent: string) => {
      const level = rows.filter((row) =>
        parent === null ? !rows.some((other) => other.id === row.parent_id) : row.parent_id === parent,
      )
      for (const [index, row] of level.entries()) {
        const last = index === level.length - 1
        const branch = parent === null ? '' : `${indent}${last ? '└─ ' : '├─ '}`
        const below = parent === null ? '' : `${indent}${last ? '   ' : '│  '}`
        const rest = rows.some(({ parent_id }) => parent_id === row.id) ? `${below}│  ` : `${below}   `
        // A page is shown with the hook that works on it; between two hooks, with the worker.
        const urls = row.pages.filter(({ id }) => isHook(row) || !ofHooks.has(id)).map(({ url }) => url)
        process.stdout.write(`${entry(row, urls, branch, rest).join('\n')}\n`)
        draw(row.id, below)
      }
    }
    draw(null, '')
  })
}

/** The lines of one process: what it does, and its pages, beside that or, where there is no room, below. */
function entry(row: ProcessRow & Doing, urls: readonly string[], branch: string, rest: string): string[] {
  const width = process.stdout.columns || 80
  const about = ` pid ${row.pid ?? '-'}, ${ago(row.since)}`
  const room = width - branch.length
  const what = cutEnd(row.what, Math.max(LEAST.what, room - about.length))
  const left = room - widthOf(what) - about.length
  const line = `${branch}${what}${left >= 0 ? onStdout.dim(about) : ''}`
  const [url = ''] = urls
  const fits = urls.length === 1 && left > Math.min(LEAST.url, widthOf(url))
  return fits
    ? [`${line} ${cutUrl(url, left - 1)}`]
    : [line, ...urls.map((each) => `${rest}${cutUrl(each, width - rest.length)}`)]
}

/** With the name of its node, where that is asked for. */
type Listed = ProcessRow & Doing & { readonly node: string | null }

const COLUMNS: readonly Column<ProcessRow & Doing>[] = [
  { name: 'pid', value: ({ pid }) => String(pid ?? '-'), right: true },
  { name: 'what', value: ({ what }) => what, cut: 'end' },
  { name: 'status', value: ({ status }) => status },
  { name: 'since', value: ({ since }) => ago(since), right: true, rank: 2 },
  { name: 'exit', value: exitOf, rank: 3, optional: true },
  { ...ID, rank: 1 },
  { name: 'page', value: pageOf, cut: 'middle', rank: 4, optional: true, below: true },
]

/** A pid means something on its own machine only; a killed node closes no row. */
const OF_ALL_NODES: ListKind<Listed> = {
  columns: [
    { name: 'node', value: ({ node }) => oneLine(node ?? '-'), cut: 'end' },
    ...COLUMNS,
    { name: 'heard of', value: ({ heartbeat_at: at }) => (at ? `${ago(at)} ago` : '-'), right: true },
  ],
  record: (row) => ({
    ...processRecord(row),
    ...{ node: row.node, node_id: row.data_dir_id, heartbeat_at: row.heartbeat_at },
  }),
}

function pageOf({ pages }: Doing): string {
  return pages.length > 1 ? `${pages.length} pages` : (pages[0]?.url ?? '')
}

function exitOf({ exit_signal: signal, exit_code: code }: ProcessRow): string {
  return signal ?? (code === null ? '' : String(code))
}

function printAll(rows: readonly ProcessRow[]): void {
  for (const row of rows) printRecord(processRecord(row))
}
