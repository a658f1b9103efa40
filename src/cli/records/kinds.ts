import { oneLine } from '../../base/clean.ts'
import { duration } from '../../base/words.ts'
import {
  CRAWLS,
  type ListedCrawl,
  type ListedResult,
  type ListedSnapshot,
  type Listing,
  RESULTS,
  SNAPSHOTS,
} from '../../db/lists/listings.ts'
import { ago } from '../format.ts'
import type { Column } from '../screen/table.ts'
import { ID, type ListKind } from './list-kind.ts'

/** A model as the command line shows it. */
export type Kind<Row extends { readonly id: string }> = Listing<Row> & ListKind<Row>

const ADDED = { name: 'added', value: (row: { readonly created_at: Date }) => ago(row.created_at), rank: 3 }

/** The colour of a word; green is for `archived` alone. */
const COLOURS: ReadonlyMap<string, 'green' | 'yellow' | 'red'> = new Map(
  Object.entries({
    archived: 'green',
    partial: 'yellow',
    paused: 'yellow',
    backoff: 'yellow',
    failed: 'red',
  }),
)
const coloured = <Row>(name: string, value: (row: Row) => string, rank?: number): Column<Row> => ({
  name,
  value,
  style: (row, palette) => {
    const colour = COLOURS.get(value(row))
    return colour ? palette[colour] : (text) => text
  },
  ...(rank === undefined ? {} : { rank }),
})

/** Where files are, if not here. */
const FILES = {
  name: 'files',
  value: ({ on_node: node }: { readonly on_node?: string }) => (node === undefined ? '' : oneLine(`on ${node}`)),
  cut: 'end' as const,
  rank: 3,
  optional: true as const,
}

export const CRAWL: Kind<ListedCrawl> = {
  ...CRAWLS,
  columns: [
    ID,
    coloured('status', ({ status }) => status),
    {
      name: 'pages',
      value: ({ sealed, pages }) => `${sealed}/${pages}`,
      // Where the next column does not fit, the colour still tells that it is not empty.
      style: ({ counts }, palette) => (counts.failed > 0 ? palette.red : counts.partial > 0 ? palette.yellow : String),
      right: true,
    },
    {
      name: 'failed',
      value: ({ counts }) => (counts.failed > 0 ? String(counts.failed) : ''),
      style: (_row, palette) => palette.red,
      right: true,
      rank: 2,
      optional: true,
    },
    {
      name: 'partial',
      value: ({ counts }) => (counts.partial > 0 ? String(counts.partial) : ''),
      style: (_row, palette) => palette.yellow,
      right: true,
      rank: 4,
      optional: true,
    },
    ADDED,
    { name: 'what', value: ({ label, urls }) => oneLine(label || urls.split('\n')[0]!), cut: 'middle' },
  ],
}

export const SNAPSHOT: Kind<ListedSnapshot> = {
  ...SNAPSHOTS,
  columns: [
    ID,
    coloured('outcome', ({ outcome, status }) => outcome ?? status),
    { name: 'depth', value: ({ depth }) => String(depth), right: true, wide: true },
    ADDED,
    FILES,
    { name: 'title', value: ({ title }) => oneLine(title ?? ''), cut: 'end', insteadOf: 'url' },
    { name: 'url', value: ({ url }) => oneLine(url), cut: 'middle', rank: 2 },
    { name: 'cause', value: ({ cause }) => oneLine(cause ?? ''), cut: 'end', rank: 1, optional: true, below: true },
  ],
}

export const RESULT: Kind<ListedResult> = {
  ...RESULTS,
  columns: [
    ID,
    coloured('status', ({ status }) => status),
    { name: 'plugin', value: ({ plugin }) => oneLine(plugin) },
    { name: 'attempt', value: ({ attempt }) => String(attempt), right: true, wide: true },
    { name: 'took', value: took, right: true, rank: 3 },
    FILES,
    { name: 'url', value: ({ url }) => oneLine(url), cut: 'middle', rank: 2, below: true },
    { name: 'output', value: ({ output_str: output }) => oneLine(output), cut: 'end', rank: 1 },
  ],
}

function took({ start_ts, end_ts }: ListedResult): string {
  return start_ts && end_ts ? duration((end_ts.getTime() - start_ts.getTime()) / 1000) : '-'
}
