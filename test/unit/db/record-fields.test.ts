import { describe, expect, it } from 'vitest'
import { crawlRecord, processRecord, resultRecord, snapshotRecord } from '../../../src/db/records.ts'

/** The fields that scripts rely on, in each record; records may have more. */
const FIELDS = {
  crawl:
    'type id urls status counts message max_depth max_urls max_size tags label created_at retry_at ' + 'output_dir',
  snapshot:
    'type id crawl_id parent_snapshot_id url title depth tags status outcome cause http_status created_at retry_at ' +
    'sealed_at output_dir output_size',
  result:
    'type id snapshot_id plugin hook_name status output_str output_files output_size start_ts end_ts attempt ' +
    'process_id',
  process:
    'type id parent_id machine_id process_type worker_type status pid pwd cmd started_at ended_at exit_code ' +
    'exit_signal timeout url term',
}
/** A row with every column that is asked for. */
const row = new Proxy({}, { get: (_row, name) => `the ${String(name)}` })

describe('the record', () => {
  it.each([
    ['crawl', crawlRecord(row as Parameters<typeof crawlRecord>[0])],
    ['snapshot', snapshotRecord(row as Parameters<typeof snapshotRecord>[0])],
    ['result', resultRecord(row as Parameters<typeof resultRecord>[0])],
    ['process', processRecord(row as Parameters<typeof processRecord>[0])],
  ] as const)('of a %s has the fields that scripts rely on, each with its value', (kind, record) => {
    const fields = record as Readonly<Record<string, unknown>>
    expect(Object.keys(fields)).toEqual(expect.arrayContaining(FIELDS[kind].split(' ')))
    expect(Object.entries(fields).filter(([, value]) => value === undefined)).toEqual([])
  })
})
