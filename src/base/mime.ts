import { extname } from 'node:path'

const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    css: 'text/css',
    csv: 'text/csv',
    gif: 'image/gif',
    htm: 'text/html',
    html: 'text/html',
    ico: 'image/x-icon',
    jpeg: 'image/jpeg',
    jpg: 'image/jpeg',
    js: 'text/javascript',
    json: 'application/json',
    jsonl: 'application/jsonl',
    log: 'text/plain',
    md: 'text/markdown',
    mhtml: 'multipart/related',
    mp3: 'audio/mpeg',
    mp4: 'video/mp4',
    pdf: 'application/pdf',
    png: 'image/png',
    svg: 'image/svg+xml',
    txt: 'text/plain',
    wacz: 'application/wacz',
    warc: 'application/warc',
    webm: 'video/webm',
    webp: 'image/webp',
    xhtml: 'application/xhtml+xml',
    xml: 'application/xml',
    zip: 'application/zip',
  }),
)

/** The media type of a file by its name; `application/octet-stream` when the name does not tell. */
export function mimeOf(file: string): string {
  if (file.endsWith('.warc.gz')) return 'application/warc'
  return TYPES.get(extname(file).slice(1).toLowerCase()) ?? 'application/octet-stream'
}
