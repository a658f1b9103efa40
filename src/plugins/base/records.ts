import type { HookResult } from './contract.ts'

type Env = Readonly<Record<string, string | undefined>>

const MAX_OUTPUT_CHARS = 2000

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
  const record = { type: 'ArchiveResult', status: result.status, output_str: oneLine(result.output) }
  return recordStamp(env)(result.json === undefined ? record : { ...record, output_json: result.json })
}

/** The depth of this run's snapshot in its crawl (EXTRA_CONTEXT.snapshot_depth); 0 when not given. */
export function snapshotDepth(env: Env): number {
  const depth = Number(extraContext(env)['snapshot_depth'])
  return Number.isInteger(depth) && depth > 0 ? depth : 0
}

/**
 * Text that any database column, terminal and JSON reader accepts: one line, no control characters, no unpaired
 * surrogates, at most `max` characters.
 */
export function oneLine(text: string, max: number = MAX_OUTPUT_CHARS): string {
  const line = text
    .slice(0, max * 4)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return (line.length > max ? `${line.slice(0, max - 1)}…` : line).toWellFormed()
}

function extraContext(env: Env): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(env['EXTRA_CONTEXT'] || '{}')
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : {}
  } catch {
    return {}
  }
}
