import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findIds } from '../../app/ids.ts'
import { oneLine } from '../../base/clean.ts'
import { shortId, sizeText } from '../../base/words.ts'
import type { Home } from '../../db/home.ts'
import { listedByIds } from '../../db/lists/listings.ts'
import { isAway, namedNodes } from '../../db/nodes.ts'
import { latestResults } from '../../db/results.ts'
import { isConsequence } from '../../machines/cause.ts'
import { withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { wrappedUncut } from '../screen/flow.ts'
import { onStdout } from '../screen/palette.ts'
import { loadWidths } from '../screen/width.ts'
import { printRecord, wantsJson } from '../terminal.ts'
import type { Kind } from './kinds.ts'

/** A field as users see it; a field of several values has several lines. */
type Field = readonly [name: string, value: unknown]

/** A path and a command: the terminal wraps them, so that they can be copied without line breaks. */
const FOR_COPYING: ReadonlySet<string> = new Set(['open', 'try again'])

/** What other fields tell in words. */
const NOT_SHOWN: ReadonlySet<string> = new Set(['output_dir', 'home_node', 'node_id'])

/** How many entries of a list are shown. */
const LISTED = 5

/** `show`: every field of the rows with these ids; for users, the fields that matter, and their results. */
export async function show<Row extends { readonly id: string }>(
  options: GlobalOptions,
  kind: Kind<Row>,
  ids: readonly string[],
): Promise<void> {
  await withHome(options, async (home) => {
    const rows = await listedByIds(home.db, kind, await findIds(home, kind, ids))
    for (const [index, row] of rows.entries()) {
      const record: Readonly<Record<string, unknown>> = { ...kind.record(row) }
      if (wantsJson(options)) printRecord(record)
      else process.stdout.write(`${index > 0 ? '\n' : ''}${await inFull(home, record)}`)
    }
  })
}

async function inFull(home: Home, record: Readonly<Record<string, unknown>>): Promise<string> {
  const { type, id, outcome, counts, output_dir: dir } = record
  const { failed = 0, partial = 0 } = (counts ?? {}) as { failed?: number; partial?: number }
  const isBad = outcome === 'failed' || outcome === 'partial' || failed + partial > 0
  const node = (record['home_node'] ?? record['node_id'] ?? null) as string | null
  const away = isAway(node, home) ? (await namedNodes(home.db, [node])).get(node) : undefined
  const page = typeof dir === 'string' && !away ? join(home.dataDir, dir, 'index.html') : ''
  const fields: Field[] = [
    ...Object.entries(record).filter(([name]) => !NOT_SHOWN.has(name)),
    ['files', away ? `on node ${away.name} (${away.state})` : null],
    ...(type === 'Snapshot' ? await resultsOf(home, String(id)) : []),
    ['open', existsSync(page) ? page : null],
    ['try again', isBad ? `archivebox-ts ${String(type).toLowerCase()} retry --failed ${shortId(String(id))}` : null],
  ]
  const told = fields
    .map(([name, value]) => [name, linesOf(name, value)] as const)
    .filter(([, lines]) => lines.length > 0)
  await loadWidths(told.flatMap(([, lines]) => lines))
  const width = Math.max(...told.map(([name]) => name.length)) + 2
  const room = Math.max(12, (process.stdout.columns || 80) - width)
  return told
    .flatMap(([name, lines]) =>
      lines
        .flatMap((line) => (FOR_COPYING.has(name) ? [line] : wrappedUncut(line, room)))
        .map((line, at) => `${onStdout.dim((at === 0 ? name : '').padEnd(width))}${line}\n`),
    )
    .join('')
}

/** The results of a page: what hooks made, what failed, and why. */
async function resultsOf({ db }: Home, id: string): Promise<Field[]> {
  const results = await latestResults(db, [id])
  const plugins = (...statuses: string[]) => results.filter(({ status }) => statuses.includes(status))
  const names = (...statuses: string[]) => [...new Set(plugins(...statuses).map(({ plugin }) => plugin))].join(', ')
  const why = ({ plugin, output_str: output }: (typeof results)[number]) => `${plugin}: ${output}`
  const lacks = plugins('skipped').filter(({ output_str: output }) => !isConsequence(output))
  return [
    ['made', names('succeeded')],
    ['failed', plugins('failed').map(why)],
    ['skipped', lacks.map(why)],
    ['to come', names('queued', 'started', 'backoff')],
  ]
}

/** 0 means no limit. */
const NO_LIMITS: ReadonlySet<string> = new Set(['max_urls', 'max_size'])

/** The lines of a value; none when it is empty. */
function linesOf(name: string, value: unknown): string[] {
  if (value === null || value === undefined || value === '' || (value === 0 && NO_LIMITS.has(name))) return []
  if (value instanceof Date) return [value.toISOString()]
  if (name.endsWith('_size') && typeof value === 'number') return [sizeText(value)]
  if (Array.isArray(value)) return some(value.map((each) => oneLine(String(each))))
  if (typeof value === 'object') return some(Object.entries(value).flatMap(entry))
  return [oneLine(String(value))]
}

function some(lines: readonly string[]): string[] {
  return lines.length <= LISTED + 1 ? [...lines] : [...lines.slice(0, LISTED), `and ${lines.length - LISTED} more`]
}

/** `TIMEOUT=30 (crawl)`, `29 archived`, `output.html (3.0 kB)` */
function entry([name, value]: readonly [string, unknown]): string[] {
  if (typeof value === 'number') return value === 0 ? [] : [`${value} ${name}`]
  const about = value as { value?: unknown; source?: unknown; size?: number }
  if (about?.source !== undefined) return [oneLine(`${name}=${about.value} (${about.source})`)]
  if (typeof about?.size === 'number') return [oneLine(`${name} (${sizeText(about.size)})`)]
  return [oneLine(`${name}: ${JSON.stringify(value)}`)]
}
