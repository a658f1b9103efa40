import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { codeOf, messageOf, UsageError } from '../../base/errors.ts'
import type { PagesOn } from '../nodes.ts'
import type { CopiedTable } from './archive-tables.ts'

// A backup is a Zstandard file: rows as PostgreSQL's COPY text, which `zstd -dc` shows, between two frames that
// decompressors skip (RFC 8878 section 3.1.2). The first describes it, the last has checks of its content.

/** Our frames, by their first four bytes. */
const SKIPPED = Buffer.from([0x5a, 0x2a, 0x4d, 0x18])
const FORMAT = 1
/** The tables and their columns take some kilobytes. */
const LARGEST = 1_000_000

export interface Header {
  readonly archivebox_ts_backup: number
  /** Of the program that made it. */
  readonly version: string
  /** Its newest migration. */
  readonly schema: number
  readonly made_at: string
  readonly server_version: string
  readonly tables: readonly CopiedTable[]
  /** The node whose files the list beside it names; undefined: an older program made it, or no list is meant. */
  readonly node?: string | undefined
  /** The other nodes, whose files are not in that list, and how many pages these have. */
  readonly absent?: readonly Pick<PagesOn, 'id' | 'name' | 'pages'>[] | undefined
}

export interface Trailer {
  /** Of each table. */
  readonly rows: Readonly<Record<string, number>>
  /** The numbers that identity columns have reached. */
  readonly sequences: readonly { readonly table: string; readonly column: string; readonly last: number }[]
  /** SHA-256 of everything before the trailer, hexadecimal. */
  readonly sha256: string
}

/** A backup that was found to be complete. */
export interface BackupFile {
  readonly path: string
  readonly header: Header
  readonly trailer: Trailer
  /** The position of the compressed rows: the first byte, and the one after the last. */
  readonly body: { readonly start: number; readonly end: number }
}

export function headerFrame(header: Omit<Header, 'archivebox_ts_backup'>): Buffer {
  return skippedFrame(Buffer.from(JSON.stringify({ archivebox_ts_backup: FORMAT, ...header })))
}

/** It ends with its own length, so that it can be found from the end. */
export function trailerFrame(trailer: Trailer): Buffer {
  const json = Buffer.from(JSON.stringify(trailer))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(json.length)
  return skippedFrame(Buffer.concat([json, length]))
}

function skippedFrame(payload: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(payload.length)
  return Buffer.concat([SKIPPED, length, payload])
}

/** Reads and checks all of a file. Throws UsageError when it is no backup, cut off, damaged, or of a newer program. */
export async function inspectBackup(path: string): Promise<BackupFile> {
  const { header, trailer, body } = await frames(path)
  const sha256 = createHash('sha256')
  await pipeline(createReadStream(path, { end: body.end - 1, highWaterMark: 1_048_576 }), sha256)
  if (sha256.digest('hex') !== trailer.sha256) throw damaged(path, 'its checksum differs')
  return { path, header, trailer, body }
}

/** What tells a backup from any other: its checksum, as it says itself. Undefined: there is none in this file. */
export async function fingerprintOf(path: string): Promise<string | undefined> {
  return await frames(path).then(
    ({ trailer }) => trailer.sha256,
    () => undefined,
  )
}

/** Whether a backup may replace this file: there is none, or it is an earlier backup. */
export async function isReplaceable(path: string): Promise<boolean> {
  try {
    const file = await open(path)
    try {
      return (await file.stat()).isFile() && (await headerOf(file)) !== undefined
    } finally {
      await file.close()
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true
    throw error
  }
}

async function frames(path: string): Promise<Omit<BackupFile, 'path'>> {
  const file = await open(path).catch((error: unknown) => {
    throw new UsageError(`cannot read ${path}: ${messageOf(error)}`)
  })
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new UsageError(`${path} is not a file`)
    const found = await headerOf(file)
    if (!found) {
      if ((await bytes(file, 0, 4)).equals(SKIPPED)) throw damaged(path, 'its beginning is incomplete')
      throw new UsageError(`${path} is not a backup of archivebox-ts`)
    }
    const { header, end: start } = found
    if (header.archivebox_ts_backup > FORMAT)
      throw new UsageError(`${path} was made by a newer archivebox-ts (${header.version})`, 'restore it with that one')
    const length = (await bytes(file, stats.size - 4, 4)).readUInt32LE()
    const end = stats.size - 4 - length - 8
    if (length > LARGEST || end < start) throw damaged(path, 'its end is missing')
    const trailer = parsed<Trailer>((await bytes(file, end + 8, length)).toString())
    if (trailer?.sha256 === undefined) throw damaged(path, 'its end is missing')
    return { header, trailer, body: { start, end } }
  } finally {
    await file.close()
  }
}

async function headerOf(file: FileHandle): Promise<{ header: Header; end: number } | undefined> {
  const start = await bytes(file, 0, 8)
  if (start.length < 8 || !start.subarray(0, 4).equals(SKIPPED) || start.readUInt32LE(4) > LARGEST) return undefined
  const length = start.readUInt32LE(4)
  const header = parsed<Header>((await bytes(file, 8, length)).toString())
  return Number.isInteger(header?.archivebox_ts_backup) ? { header: header!, end: 8 + length } : undefined
}

async function bytes(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

function parsed<T>(json: string): T | undefined {
  try {
    return JSON.parse(json) as T
  } catch {
    return undefined
  }
}

function damaged(path: string, why: string): UsageError {
  return new UsageError(`${path} is cut off or damaged: ${why}`, 'nothing was changed; take another copy of it')
}
