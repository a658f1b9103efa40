import {
  CRAWLS,
  type ListedCrawl,
  type ListedResult,
  type ListedSnapshot,
  type Listing,
  RESULTS,
  SNAPSHOTS,
} from '../../db/listings.ts'
import { ago, duration } from '../format.ts'

/** A model as the command line shows it. */
export interface Kind<Row extends { readonly id: string }> extends Listing<Row> {
  readonly headings: readonly string[]
  readonly line: (row: Row) => readonly string[]
}

export const CRAWL: Kind<ListedCrawl> = {
  ...CRAWLS,
  headings: ['id', 'status', 'pages', 'added', 'what'],
  line: (row) => [
    row.id,
    row.status,
    `${row.sealed} of ${row.pages}`,
    ago(row.created_at),
    row.label || row.urls.split('\n')[0]!,
  ],
}

export const SNAPSHOT: Kind<ListedSnapshot> = {
  ...SNAPSHOTS,
  headings: ['id', 'status', 'depth', 'added', 'url', 'title'],
  line: (row) => [row.id, row.status, String(row.depth), ago(row.created_at), row.url, row.title ?? ''],
}

export const RESULT: Kind<ListedResult> = {
  ...RESULTS,
  headings: ['id', 'status', 'plugin', 'attempt', 'took', 'url', 'output'],
  line: (row) => [
    row.id,
    row.status,
    row.plugin,
    String(row.attempt),
    took(row),
    row.url,
    row.output_str.split('\n')[0]!,
  ],
}

function took({ start_ts, end_ts }: ListedResult): string {
  return start_ts && end_ts ? duration((end_ts.getTime() - start_ts.getTime()) / 1000) : '-'
}
