import { getSurt, postToGetUrl } from 'warcio/utils'
import type { Headers } from './http-message.ts'
import { type IndexLine, lineText } from './index-line.ts'
import { byBytes } from './sorted-lines.ts'

/** The part of a request's body that replay tools use. */
const MOST_BODY = 16_384

/** The position of a record in its file, and its subject. */
export interface IndexEntry {
  readonly url: string
  readonly at: Date
  readonly mime: string
  readonly status: number
  readonly digest: string
  readonly offset: number
  readonly length: number
  /** Why the body is incomplete. */
  readonly truncated?: string | undefined
  /** The target of a redirect. */
  readonly leadsTo?: string | undefined
  /** For a request other than GET. */
  readonly request?: { readonly method: string; readonly headers: Headers; readonly body?: Buffer | undefined }
}

/** The index of a file: one line per record, sorted by bytes. */
export function cdxj(entries: readonly IndexEntry[], filename: string): string {
  return entries
    .map((entry) => lineText(lineOf(entry, filename)))
    .sort(byBytes)
    .join('')
}

function lineOf(
  { url, at, mime, status, digest, offset, length, truncated, leadsTo, request }: IndexEntry,
  filename: string,
): IndexLine {
  // A request's body becomes part of the key, as pywb and wabac.js look it up.
  const { key, more } = request ? withBody(url, request) : { key: url, more: {} }
  return {
    key: `${getSurt(key)} ${at.toISOString().replace(/\D/g, '').slice(0, 14)}`,
    fields: {
      url,
      mime: mime || 'unk',
      status: String(status),
      digest,
      length: String(length),
      offset: String(offset),
      filename,
      ...(truncated && { truncated }),
      ...(leadsTo !== undefined && { redirect: leadsTo }),
      ...more,
    },
  }
}

function withBody(url: string, { method, headers, body }: NonNullable<IndexEntry['request']>) {
  const type = headers.filter(([name]) => name.toLowerCase() === 'content-type')
  const request = { url, method, headers: new Map(type), postData: body ?? '' }
  const found = postToGetUrl(request, MOST_BODY)
  const requestBody = (request as { requestBody?: string }).requestBody ?? ''
  return { key: found ? request.url : url, more: { method, requestBody } }
}
