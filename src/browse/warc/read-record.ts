import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { AppError } from '../../base/errors.ts'

/** The position of a record in a file, in bytes: a gzip member. */
export interface Place {
  readonly offset: number
  readonly length: number
}

/** A response in a WARC. */
export interface ReadResponse {
  /** Headers of the record and of the response, by names in lower case; of a repeated name, one counts. */
  readonly record: ReadonlyMap<string, string>
  readonly headers: ReadonlyMap<string, string>
  /** As received. */
  readonly body: AsyncIterable<Buffer>
}

const HEAD_END = '\r\n\r\n'
const MOST_HEAD = 1024 * 1024

/**
 * Reads a response from a WARC file; the caller must read its body, or break off. Throws AppError, or the system's
 * error.
 */
export async function readResponse(file: string, { offset, length }: Place): Promise<ReadResponse> {
  const source = createReadStream(file, { start: offset, end: offset + length - 1 })
  const member = pipeline(source, createGunzip(), () => {}) // The reader of the member gets the error.
  const pieces = member[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let buffer: Buffer = Buffer.alloc(0)
  const head = async () => {
    while (true) {
      const end = buffer.indexOf(HEAD_END)
      if (end >= 0) {
        const lines = buffer.subarray(0, end).toString().split('\r\n').slice(1)
        buffer = buffer.subarray(end + HEAD_END.length)
        return { bytes: end + HEAD_END.length, fields: new Map(lines.map(field)) }
      }
      const { value, done } = await pieces.next()
      if (done || buffer.length > MOST_HEAD) throw new AppError(`no response at ${offset} in ${file}`)
      buffer = Buffer.concat([buffer, value])
    }
  }
  const record = await head()
  const response = await head()
  const size = Number(record.fields.get('content-length')) - response.bytes
  const body = async function* () {
    try {
      let left = size
      for (let piece: Buffer = buffer; left > 0; ) {
        yield piece.subarray(0, left)
        left -= piece.length
        if (left <= 0) break
        const next = await pieces.next()
        if (next.done) throw new AppError(`the response at ${offset} in ${file} is not whole`)
        piece = next.value
      }
    } finally {
      member.destroy()
    }
  }
  return { record: record.fields, headers: response.fields, body: body() }
}

function field(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
}
