import { listProcesses, listRows } from '../../app/lists.ts'
import { cursorOf, placeOf } from '../../app/records/cursors.ts'
import { type FilterWords, filtersOf } from '../../app/records/filters.ts'
import { UsageError } from '../../base/errors.ts'
import type { Home } from '../../db/home.ts'
import { CRAWLS, type Listing, listedByIds, RESULTS, SNAPSHOTS } from '../../db/lists/listings.ts'
import { machines } from '../../db/machines.ts'
import { rowById } from '../../db/process-rows.ts'
import { machineRecord, processRecord, scheduleRecord, tagRecord } from '../../db/records.ts'
import { listSchedules, schedulesBelow } from '../../db/schedules.ts'
import { PROCESS_STATUSES, PROCESS_TYPES, WORKER_TYPES } from '../../db/tables.ts'
import { listTags } from '../../db/tags.ts'
import type { Query } from './query.ts'

/** A part of a list, and the cursor for the rest. */
export interface Part {
  readonly items: readonly object[]
  readonly next: string | undefined
}

/** A list of the API: the records that the command line prints, with its filters. */
export interface List {
  /** The filters that it accepts. */
  readonly filters: readonly string[]
  /** The name of one of its rows. */
  readonly noun: string
  part(home: Home, query: Query): Promise<Part>
  /** The table to find its rows in by a part of their id; undefined: they have no id. */
  readonly table?: 'crawl' | 'snapshot' | 'archive_result' | 'process' | 'machine' | 'schedule'
  /** The record of one row, by its full id. */
  one?(home: Home, id: string): Promise<object | undefined>
}

/** The API's names for the filters of rows. */
const WORDS: Readonly<Record<keyof FilterWords, string>> = {
  status: 'status',
  outcome: 'outcome',
  urlContains: 'url__icontains',
  text: 'text',
  host: 'host',
  crawlId: 'crawl_id',
  snapshotId: 'snapshot_id',
  plugin: 'plugin',
  made: 'made',
  tag: 'tag',
  after: 'after',
  before: 'before',
}

function listing<Row extends { readonly id: string }>(of: Listing<Row>): List {
  return {
    filters: Object.values(WORDS),
    noun: of.noun,
    table: of.table,
    part: async (home, query) => {
      const words = Object.fromEntries(Object.entries(WORDS).map(([word, name]) => [word, query.get(name)]))
      const filters = await filtersOf(of, words as FilterWords, (word) => WORDS[word])(home)
      const cursor = query.get('below')
      const from = cursor === undefined ? {} : { last: placeOf(cursor) }
      const rows: Row[] = []
      // One more than requested tells whether there are any after them.
      for await (const some of listRows({ home }, of, { filters, limit: query.limit + 1, ...from })) rows.push(...some)
      const items = rows.slice(0, query.limit)
      const last = rows.length > items.length ? items.at(-1) : undefined
      return { items: items.map(of.record), next: last && cursorOf(last) }
    },
    one: async (home, id) => (await listedByIds(home.db, of, [id])).map(of.record)[0],
  }
}

const PROCESSES: List = {
  filters: ['all', 'type', 'worker_type', 'status'],
  noun: 'process',
  table: 'process',
  part: async (home, query) => {
    // These are written into the statement: there are indexes of rare ones. So nothing else may get in.
    const type = wordOf(query, 'type', PROCESS_TYPES)
    const workerType = wordOf(query, 'worker_type', WORKER_TYPES)
    const status = wordOf(query, 'status', PROCESS_STATUSES)
    const before = query.get('below')
    if (before !== undefined && !/^\d{1,15}$/.test(before)) throw new UsageError(`not a cursor of a list: ${before}`)
    const filters = {
      all: query.has('all'),
      ...(type !== undefined && { type }),
      ...(workerType !== undefined && { workerType }),
      ...(status !== undefined && { status }),
      ...(before !== undefined && { before: Number(before) }),
    }
    const rows = []
    for await (const some of listProcesses({ home }, { filters, limit: query.limit + 1 })) rows.push(...some)
    const items = rows.slice(0, query.limit)
    const last = rows.length > items.length ? items.at(-1) : undefined
    return { items: items.map(processRecord), next: last && String(last.seq) }
  },
  one: async (home, id) => {
    const row = await rowById(home, id)
    return row && processRecord(row)
  },
}

/** One of the words that the command line accepts. Throws UsageError for any other. */
function wordOf(query: Query, name: string, words: readonly string[]): string | undefined {
  const word = query.get(name)
  if (word === undefined || words.includes(word)) return word
  throw new UsageError(`there is no ${name} "${word}": known are ${words.join(', ')}`)
}

const SCHEDULES: List = {
  filters: [],
  noun: 'schedule',
  table: 'schedule',
  part: async ({ db }, query) => {
    const below = query.get('below')
    if (below !== undefined) placeOf(below)
    const rows = await schedulesBelow(db, { below, limit: query.limit + 1 })
    if (rows === undefined) throw gone(below)
    const items = rows.slice(0, query.limit)
    return { items: items.map(scheduleRecord), next: rows.length > items.length ? items.at(-1)?.id : undefined }
  },
  one: async ({ db }, id) => (await listSchedules(db, [id])).map(scheduleRecord)[0],
}

/** Short lists, which are read as a whole. */
function whole<Each extends { readonly id: string }>(
  noun: string,
  all: (home: Home) => Promise<readonly Each[]>,
  table?: 'machine',
): List {
  return {
    ...{ filters: [], noun },
    ...(table && { table }),
    part: async (home, query) => {
      const each = await all(home)
      const below = query.get('below')
      const from = below === undefined ? 0 : each.findIndex(({ id }) => id === below) + 1
      if (below !== undefined && from === 0) throw gone(below)
      const items = each.slice(from, from + query.limit)
      return { items, next: from + items.length < each.length ? items.at(-1)?.id : undefined }
    },
    one: async (home, id) => (await all(home)).find((each) => each.id === id),
  }
}

/** The error when the row of a cursor is gone: a client that started over would never end. */
function gone(below: string | undefined): UsageError {
  return new UsageError(`no longer in this list: ${below}`, 'start the list again, without below')
}

/** The lists of the API, by their names. */
export const LISTS: ReadonlyMap<string, List> = new Map([
  ['crawls', listing(CRAWLS)],
  ['snapshots', listing(SNAPSHOTS)],
  ['results', listing(RESULTS)],
  ['processes', PROCESSES],
  ['schedules', SCHEDULES],
  [
    'machines',
    whole('machine', async (home) => (await machines(home.db)).map((row) => machineRecord(row, home)), 'machine'),
  ],
  ['tags', whole('tag', async ({ db }) => (await listTags(db)).map(tagRecord))],
])
