import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { isMachineTrouble } from '../../base/errors.ts'
import { writePieces } from '../../base/whole-file.ts'
import { parseContentType } from '../../browse/http/content-type.ts'
import { decoded, encodingsOf } from '../../browse/http/decoded.ts'
import { fileName } from '../../browse/http/file-name.ts'
import { type ReadResponse, readResponse } from '../../browse/warc/read-record.ts'
import type { HookContext } from '../../hooks/contract.ts'

/** A line of `index.jsonl`; the names are ArchiveBox's. */
export interface ListedResponse {
  /** UTC, `YYYYMMDDhhmmss`. */
  readonly ts: string
  readonly method: string
  readonly url: string
  readonly status: number
  /** What the page requested it for: `document`, `script`, `image`; `fetch` when we requested it. */
  readonly resourceType: string
  readonly mimeType: string
  readonly responseSha256: string
  readonly size: number
  /** The path of its body, from the folder of `index.jsonl`. */
  readonly path: string
}

interface Line {
  readonly ts: string
  readonly url: string
  readonly method?: string
  readonly mime: string
  readonly status: string
  readonly digest: string
  readonly offset: string
  readonly length: string
}

/**
 * Writes the bodies of a WARC's responses as separate files below `all/`, without duplicates, as many as fit in
 * `maxBytes`; redirects, errors and empty ones are in the WARC only. Throws AppError when the WARC cannot be read.
 */
export async function bodiesIn(
  { outputDir, signal }: Pick<HookContext, 'outputDir' | 'signal'>,
  warc: string,
  index: string,
  maxBytes: number,
): Promise<{ readonly list: readonly ListedResponse[]; readonly leftOut: number }> {
  const list: ListedResponse[] = []
  const known = new Map<string, Pick<ListedResponse, 'path' | 'size' | 'responseSha256'>>()
  let left = maxBytes
  let leftOut = 0
  const lines = index.split('\n').filter(Boolean).map(parsed).filter(isContent)
  // A reference to another record comes after it.
  for (const line of lines.toSorted((a, b) => Number(a.offset) - Number(b.offset))) {
    signal.throwIfAborted()
    const { ts, url, status, digest } = line
    const response = await readResponse(warc, { offset: Number(line.offset), length: Number(line.length) })
    const mimeType = parseContentType(response.headers.get('content-type')).mime
    const name = `${ts}__${String(list.length + leftOut).padStart(4, '0')}__${fileName(url, undefined, mimeType)}`
    const file = known.get(digest) ?? (await written(response, outputDir, `all/${name}`, left))
    if (file === undefined) leftOut++
    else if (file.size > 0) {
      if (!known.has(digest)) left -= file.size
      known.set(digest, file)
      const resourceType = response.record.get('warc-resource-type') ?? 'fetch'
      list.push({ ts, method: line.method ?? 'GET', url, status: Number(status), resourceType, mimeType, ...file })
    }
  }
  return { list, leftOut }
}

/** @returns undefined when it is larger than `most`, or cannot be decoded to its end */
async function written({ headers, body }: ReadResponse, folder: string, path: string, most: number) {
  const sha256 = createHash('sha256')
  let size = 0
  let isWhole = true
  const measured = async function* () {
    try {
      for await (const piece of decoded(body, encodingsOf({ headers: Object.fromEntries(headers) }))) {
        size += piece.length
        if (size > most) return
        sha256.update(piece)
        yield piece
      }
    } catch (error) {
      if (isMachineTrouble(error)) throw error
      isWhole = false
    }
  }
  await writePieces(folder, path, measured())
  const isKept = isWhole && size <= most
  if (size === 0 || !isKept) rmSync(join(folder, path))
  return !isKept ? undefined : { path: `./${path}`, size, responseSha256: sha256.digest('hex') }
}

function parsed(line: string): Line {
  const fields = JSON.parse(line.slice(line.indexOf('{'))) as Omit<Line, 'ts'>
  return { ...fields, ts: / (\d{14}) \{/.exec(line)?.[1] ?? '' }
}

function isContent({ url, status }: Line): boolean {
  return /^https?:/.test(url) && Number(status) >= 200 && Number(status) < 300
}
