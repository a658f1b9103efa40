import { extname } from 'node:path'

/** By extension; where several have one type, the first is its own. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    avif: 'image/avif',
    css: 'text/css',
    csv: 'text/csv',
    epub: 'application/epub+zip',
    gif: 'image/gif',
    gz: 'application/gzip',
    html: 'text/html',
    htm: 'text/html',
    ico: 'image/x-icon',
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    js: 'text/javascript',
    json: 'application/json',
    jsonl: 'application/jsonl',
    md: 'text/markdown',
    mhtml: 'multipart/related',
    mp3: 'audio/mpeg',
    mp4: 'video/mp4',
    ogg: 'audio/ogg',
    pdf: 'application/pdf',
    png: 'image/png',
    svg: 'image/svg+xml',
    txt: 'text/plain',
    log: 'text/plain',
    wacz: 'application/wacz',
    warc: 'application/warc',
    wav: 'audio/wav',
    webm: 'video/webm',
    webp: 'image/webp',
    xhtml: 'application/xhtml+xml',
    xml: 'application/xml',
    zip: 'application/zip',
  }),
)
/** Other names of types. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['application/rss+xml', 'xml'],
  ['application/atom+xml', 'xml'],
  ['text/xml', 'xml'],
  ['image/vnd.microsoft.icon', 'ico'],
])

/** The media type of a file by its name; `application/octet-stream` when the name does not tell. */
export function mimeOf(file: string): string {
  if (file.endsWith('.warc.gz')) return 'application/warc'
  return TYPES.get(extname(file).slice(1).toLowerCase()) ?? 'application/octet-stream'
}

/** The extension of files of a media type, with its dot; '' when none is known. */
export function extensionOf(mime: string): string {
  const extension = ALIASES.get(mime) ?? [...TYPES].find(([, type]) => type === mime)?.[0]
  return extension === undefined ? '' : `.${extension}`
}
