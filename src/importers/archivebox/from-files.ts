import { closeSync, fstatSync, globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { openFile, placeInside } from '../../base/inside.ts'
import { dateOf } from '../dates.ts'
import { tagsOf } from '../fields.ts'
import { type SourceResult, type SourceSnapshot, UNKNOWN_TIME } from './snapshot.ts'

type Fields = Readonly<Record<string, unknown>>

/** The largest index of a snapshot; it is read as a whole. */
const MAX_BYTES = 64 * 1024 * 1024

/** Each snapshot's own index: records since 0.9, one document before. */
const INDEXES = ['archive/users/*/snapshots/*/*/*/index.jsonl', 'archive/*/index.json']

/**
 * The snapshots of a collection that lost its `index.sqlite3`, from the indexes beside their files.
 * @param folder its real path
 * @param leave is told what cannot be read
 */
export function* fromFiles(folder: string, leave: (what: string) => void): Generator<SourceSnapshot> {
  for (const pattern of INDEXES) {
    for (const file of globSync(pattern, { cwd: folder }).sort()) {
      let snapshot: SourceSnapshot | undefined
      try {
        const text = readIndexFile(folder, file)
        snapshot = file.endsWith('.jsonl') ? fromRecords(text, dirname(file)) : fromDocument(text, dirname(file))
      } catch {
        snapshot = undefined
      }
      if (snapshot) yield snapshot
      else leave(`${file}: cannot be read`)
    }
  }
}

function readIndexFile(folder: string, file: string): string {
  const fd = openFile(placeInside(folder, file) ?? '')
  if (fd === undefined) throw new Error('it is no file')
  try {
    if (fstatSync(fd).size > MAX_BYTES) throw new Error('it is too large')
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

function fromRecords(text: string, folder: string): SourceSnapshot | undefined {
  const records = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Fields)
  const page = records.find(({ type }) => type === 'Snapshot')
  const results = records.filter(({ type }) => type === 'ArchiveResult')
  return (
    page &&
    snapshotOf(
      page,
      folder,
      results.map((result) => resultOf(result, String(result['plugin']))),
    )
  )
}

function fromDocument(text: string, folder: string): SourceSnapshot | undefined {
  const page = JSON.parse(text) as Fields
  const history = Object.entries((page['history'] ?? {}) as Readonly<Record<string, readonly Fields[]>>)
  return snapshotOf(
    page,
    folder,
    history.flatMap(([extractor, results]) => results.map((result) => resultOf(result, extractor))),
  )
}

function snapshotOf(page: Fields, folder: string, results: readonly SourceResult[]): SourceSnapshot | undefined {
  const { id, url, title, tags, notes, depth, timestamp, bookmarked_at, added, updated, downloaded_at } = page
  if (typeof url !== 'string') return undefined
  return {
    id: String(id ?? timestamp ?? folder),
    crawl: '', // They come in the order of their folders, not crawl by crawl.
    url,
    title: typeof title === 'string' ? title : null,
    tags: tagsOf(tags),
    notes: typeof notes === 'string' ? notes : '',
    depth: Number(depth ?? 0),
    bookmarkedAt: dateOf(bookmarked_at ?? added) ?? dateOf(timestamp) ?? UNKNOWN_TIME,
    savedAt: dateOf(downloaded_at ?? updated),
    folders: [folder],
    results,
  }
}

function resultOf(result: Fields, plugin: string): SourceResult {
  const { hook_name, status, output_str, output, start_ts, end_ts } = result
  return {
    plugin,
    hook: String(hook_name ?? ''),
    status: String(status),
    output: String(output_str ?? output ?? ''),
    start: dateOf(start_ts),
    end: dateOf(end_ts),
  }
}
