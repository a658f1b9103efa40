import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { sleep } from '../../base/abort.ts'
import { codeOf } from '../../base/errors.ts'

/** How much of a log is searched for its last lines, however long they are. */
const MAX_TAIL_BYTES = 1024 * 1024
const LOOK_MS = 100

/**
 * The last lines of a log, and its current end; null when there is no such file. Memory stays bounded, whatever it
 * contains.
 */
export function tail(file: string, lines: number): { readonly text: string; readonly end: number } | null {
  const part = readFrom(file, (size) => Math.max(0, size - MAX_TAIL_BYTES))
  if (!part) return null
  const text = part.bytes.toString('utf8')
  const body = text.endsWith('\n') ? text.slice(0, -1) : text
  let from = body.length
  for (let count = 0; count < lines && from > 0; count += 1) from = body.lastIndexOf('\n', from - 1)
  return { text: text.slice(from < 0 ? 0 : body[from] === '\n' ? from + 1 : from), end: part.end }
}

/**
 * What is added to a log from `position` on, until `isOver` tells that nobody writes to it any more and all of it was
 * read. A file that became shorter has started anew.
 */
export async function* follow(file: string, position: number, isOver: () => Promise<boolean>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for (let at = position; ; ) {
    const over = await isOver()
    const part = readFrom(file, (size) => (size < at ? 0 : at))
    at = part?.end ?? 0
    if (part && part.bytes.length > 0) yield decoder.decode(part.bytes, { stream: true })
    else if (over) return
    else await sleep(LOOK_MS)
  }
}

/** The bytes of a file from somewhere on, at most a mebibyte of them. */
function readFrom(
  file: string,
  where: (size: number) => number,
): { readonly bytes: Buffer; readonly end: number } | null {
  let fd: number
  try {
    fd = openSync(file, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
  try {
    const { size } = fstatSync(fd)
    const start = where(size)
    const bytes = Buffer.alloc(Math.min(size - start, MAX_TAIL_BYTES))
    const length = readSync(fd, bytes, 0, bytes.length, start)
    return { bytes: bytes.subarray(0, length), end: start + length }
  } finally {
    closeSync(fd)
  }
}
