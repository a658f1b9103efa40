import { storableLine } from '../base/storable-line.ts'
import type { HookResult } from './contract.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Stamps the records of one run: merges EXTRA_CONTEXT (a JSON object in the environment, parsed once) into each record.
 * The record's own keys win. Anything but a JSON object counts as empty.
 */
export function recordStamp(env: Env): (record: object) => object {
  const extra = extraContext(env)
  return Object.keys(extra).length === 0 ? (record) => record : (record) => ({ ...extra, ...record })
}

/** The ArchiveResult record that ends a hook's stdout. */
export function resultRecord(result: HookResult, env: Env = {}): object {
  const record = { type: 'ArchiveResult', status: result.status, output_str: storableLine(result.output) }
  return recordStamp(env)(result.json === undefined ? record : { ...record, output_json: result.json })
}

/** The depth of this run's snapshot in its crawl (EXTRA_CONTEXT.snapshot_depth); 0 when not given. */
export function snapshotDepth(env: Env): number {
  const depth = Number(extraContext(env)['snapshot_depth'])
  return Number.isInteger(depth) && depth > 0 ? depth : 0
}

function extraContext(env: Env): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(env['EXTRA_CONTEXT'] || '{}')
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : {}
  } catch {
    return {}
  }
}
