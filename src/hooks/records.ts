import { createReadStream } from 'node:fs'
import { own } from '../base/own.ts'
import type { ResultStatus } from '../db/tables.ts'

/** What a hook reports about its own work: the last ArchiveResult line counts. */
export interface ResultRecord {
  readonly status: Extract<ResultStatus, 'succeeded' | 'failed' | 'skipped' | 'noresults' | 'backoff'>
  readonly output: string
  readonly json: unknown
}

/** A page that a hook found. */
export interface SnapshotRecord {
  readonly url: string
  readonly title?: string
}

/** A program that a hook requests, or, with a path, one that it found or installed. */
export interface BinaryRecord {
  readonly name: string
  readonly binproviders: string
  readonly minVersion: string
  /** '' for a requested program. */
  readonly abspath: string
}

export interface HookRecords {
  readonly result: ResultRecord | undefined
  readonly snapshots: readonly SnapshotRecord[]
  readonly tags: readonly string[]
  /** The programs that it requests (BinaryRequest) or has (Binary). */
  readonly binaries: readonly BinaryRecord[]
  /** How many lines looked like records and were refused: too long, not JSON, or above the limit. */
  readonly rejected: number
}

const MAX_LINE = 1024 * 1024
const MAX_RECORDS = 50_000
/** The deepest nesting of a hook's JSON: PostgreSQL's ends at some 6,000, JSON.stringify before its stack does. */
const DEEPEST = 500
const STATUSES = new Map<unknown, ResultRecord['status']>([
  ['succeeded', 'succeeded'],
  ['success', 'succeeded'],
  ['failed', 'failed'],
  ['skipped', 'skipped'],
  ['noresults', 'noresults'],
  ['noresult', 'noresults'],
  ['backoff', 'backoff'],
])

/**
 * Reads the JSONL records in a hook's stdout; other lines are messages. Memory stays bounded whatever the hook printed.
 */
export async function readRecords(file: string): Promise<HookRecords> {
  const records = new Collector()
  for await (const line of lines(file)) records.take(line)
  return records
}

/** The output of a hook: its file, and the text when it has no separate file or nobody needs to read that. */
export interface Printed {
  readonly logs: { readonly stdout: string }
  readonly stdout?: string | undefined
}

/** The records in the output of a hook. */
export async function recordsOf({ logs, stdout }: Printed): Promise<HookRecords> {
  return stdout === undefined ? await readRecords(logs.stdout) : recordsIn(stdout)
}

/** The same for output that is already in memory. */
function recordsIn(text: string): HookRecords {
  const records = new Collector()
  for (const line of text.split('\n')) records.take(line.length > MAX_LINE ? null : line)
  return records
}

class Collector implements HookRecords {
  result: ResultRecord | undefined
  readonly snapshots: SnapshotRecord[] = []
  readonly tags: string[] = []
  readonly binaries: BinaryRecord[] = []
  rejected = 0

  /** @param line null for a line that is longer than a record may be */
  take(line: string | null): void {
    if (line === null) this.rejected += 1
    if (!line?.startsWith('{')) return
    const record = parse(line)
    const isFull = this.snapshots.length + this.tags.length + this.binaries.length >= MAX_RECORDS
    if (!record || (isFull && record['type'] !== 'ArchiveResult')) this.rejected += 1
    else if (record['type'] === 'ArchiveResult') this.result = resultOf(record)
    else if (typeof record['url'] === 'string' && (record['type'] === 'Snapshot' || record['type'] === undefined))
      this.snapshots.push({
        url: record['url'],
        ...(typeof record['title'] === 'string' ? { title: clean(record['title']).slice(0, 512) } : {}),
      })
    else if (record['type'] === 'Binary' || record['type'] === 'BinaryRequest') this.binaries.push(...binaryOf(record))
    else if (record['type'] === 'Tag' && typeof record['name'] === 'string')
      this.tags.push(clean(record['name']).slice(0, 100))
  }
}

/** Reads the URLs in a plugin's urls.jsonl, the other way in which upstream's parsers pass on links. */
export async function readUrlsFile(file: string): Promise<SnapshotRecord[]> {
  return [...(await readRecords(file)).snapshots]
}

function resultOf(record: Record<string, unknown>): ResultRecord {
  const output = record['output_str'] ?? record['output'] ?? ''
  const status = STATUSES.get(record['status']) ?? 'failed'
  return {
    status,
    output: clean(typeof output === 'string' ? output : JSON.stringify(output)).slice(0, 4096),
    json: isTooDeep(record['output_json']) ? null : (record['output_json'] ?? null),
  }
}

/** Level by level: recursion would need a stack frame per level. */
function isTooDeep(json: unknown): boolean {
  let level: unknown[] = [json]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEEPEST) return true
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []))
  }
  return false
}

function binaryOf(record: Record<string, unknown>): BinaryRecord[] {
  const text = (key: string) => {
    const given = own(record, key)
    return typeof given === 'string' ? clean(given).slice(0, 4096) : ''
  }
  const found = {
    binproviders: text('binproviders') || '*',
    minVersion: text('min_version'),
    abspath: record['type'] === 'Binary' ? text('abspath') : '',
  }
  return text('name') === '' ? [] : [{ name: text('name'), ...found }]
}

/** JSON escapes that PostgreSQL's text and jsonb refuse: NUL and unpaired surrogates. */
const REFUSED = /\\u(?:0000|d[89a-f])|[\ud800-\udfff]/iu

/** A reviver for JSON.parse, which takes several times as long with it. Keys are texts like others. */
function accepted(_key: string, part: unknown): unknown {
  if (typeof part === 'string') return clean(part).toWellFormed()
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [clean(key).toWellFormed(), value]))
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = REFUSED.test(line) ? JSON.parse(line, accepted) : JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Removes NUL, which PostgreSQL's text refuses. */
export function clean(text: string): string {
  return text.replaceAll('\u0000', '')
}

/** The lines of a file; null for a line that is longer than a record may be. */
async function* lines(file: string): AsyncGenerator<string | null> {
  let rest = ''
  let tooLong = false
  for await (const chunk of createReadStream(file, { encoding: 'utf8' })) {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      yield tooLong ? null : part
      tooLong = false
    }
    if (rest.length > MAX_LINE) {
      tooLong = true
      rest = ''
    }
  }
  if (rest) yield tooLong ? null : rest
}
