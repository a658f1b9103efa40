import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gunzipSync, inflateRawSync } from 'node:zlib'
import { WARCParser } from 'warcio'

/** A record as another library reads it. */
export interface ReadRecord {
  readonly type: string
  readonly url: string
  /** Its own headers, and those of the response or request in it, by lower-case name. */
  readonly fields: ReadonlyMap<string, string>
  readonly http: ReadonlyMap<string, string>
  readonly status: number
  readonly head: string
  readonly body: Buffer
}

/** The records of a WARC, or of a part of one. Throws when a digest in them is wrong. */
export async function recordsIn(bytes: Buffer): Promise<ReadRecord[]> {
  const records: ReadRecord[] = []
  for await (const record of WARCParser.iterRecords([bytes], { parseHttp: false })) {
    const { warcHeaders } = record
    const fields = new Map([...warcHeaders.headers].map(([name, value]) => [name.toLowerCase(), value]))
    const [type = '', url = '', contentType = ''] = ['warc-type', 'warc-target-uri', 'content-type'].map((name) =>
      fields.get(name),
    )
    const block = Buffer.from(await record.readFully(false))
    const isHttp = contentType.startsWith('application/http')
    const end = isHttp ? block.indexOf('\r\n\r\n') + 4 : 0
    const [head, body] = [block.subarray(0, end).toString(), block.subarray(end)]
    const digests = { 'warc-block-digest': block, ...(/^res/.test(type) && { 'warc-payload-digest': body }) }
    for (const [name, digested] of Object.entries(digests))
      if (fields.get(name) !== `sha256:${hash('sha256', digested)}`) throw new Error(`${name} of ${type} ${url}`)
    const lines = head.trim().split('\r\n').slice(1)
    const pairs = lines.map((line) => [line.split(': ')[0]!.toLowerCase(), line.slice(line.indexOf(': ') + 2)] as const)
    records.push({ type, url, fields, http: new Map(pairs), status: Number(head.split(' ')[1]), head, body })
  }
  return records
}

/** A line of an index, and the record that it leads to. */
export interface IndexedRecord {
  readonly key: string
  readonly url: string
  readonly mime: string
  readonly digest: string
  readonly record: ReadRecord
}

/** The lines of an index, each with the record at exactly the place that the line gives. */
export async function indexed(index: string, warc: Buffer): Promise<IndexedRecord[]> {
  const lines = index.trimEnd().split('\n')
  if ([...lines].sort().join() !== lines.join()) throw new Error('the index is not sorted')
  const found = lines.map(async (line) => {
    const fields = JSON.parse(line.slice(line.indexOf('{'))) as IndexedRecord & Record<'offset' | 'length', string>
    const offset = Number(fields.offset)
    const member = warc.subarray(offset, offset + Number(fields.length))
    const [record, ...more] = await recordsIn(gunzipSync(member))
    if (!record || more.length > 0) throw new Error(`not one record: ${line}`)
    return { ...fields, key: line.slice(0, line.indexOf(' {')), record }
  })
  return await Promise.all(found)
}

/** The files in a zip, by name; uncompressed ones with their bytes in it. */
export function filesIn(zip: string): Map<string, { readonly bytes: Buffer; readonly isStored: boolean }> {
  const bytes = readFileSync(zip)
  const end = bytes.lastIndexOf('PK\x05\x06', undefined, 'latin1')
  const files = new Map<string, { bytes: Buffer; isStored: boolean }>()
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [method, size, name, extra, comment, local] = [
      bytes.readUInt16LE(at + 10),
      bytes.readUInt32LE(at + 20),
      ...[28, 30, 32].map((field) => bytes.readUInt16LE(at + field)),
      bytes.readUInt32LE(at + 42),
    ] as [number, number, number, number, number, number]
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28)
    const packed = bytes.subarray(start, start + size)
    files.set(bytes.toString('utf8', at + 46, at + 46 + name), {
      bytes: method === 0 ? packed : inflateRawSync(packed),
      isStored: method === 0,
    })
    at += 46 + name + extra + comment
  }
  return files
}

/** The contents of a WACZ: its pages, and its index with the records that it leads to. */
export async function packageIn(path: string): Promise<{ pages: string[]; index: IndexedRecord[] }> {
  const files = filesIn(path)
  const [index, warc, list] = ['indexes/index.cdx.gz', 'archive/data.warc.gz', 'pages/pages.jsonl'].map(
    (name) => files.get(name)!.bytes,
  ) as [Buffer, Buffer, Buffer]
  const [, ...pages] = list.toString().trimEnd().split('\n')
  return {
    pages: pages.map((line) => (JSON.parse(line) as { url: string }).url),
    index: await indexed(gunzipSync(index).toString(), warc),
  }
}
