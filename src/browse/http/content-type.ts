/** The parts of a Content-Type, in lower case; both are '' when it is missing. */
export interface ContentType {
  readonly mime: string
  readonly charset: string
}

export function parseContentType(header: string | undefined): ContentType {
  const [mime = '', ...parameters] = (header ?? '').split(';')
  // Repeated headers arrive joined with a comma: the first one counts.
  const name = mime.split(',')[0]!.trim().toLowerCase()
  for (const parameter of parameters) {
    const match = /^\s*charset\s*=\s*"?\s*([^\s",]+)/i.exec(parameter)
    if (match) return { mime: name, charset: match[1]!.toLowerCase() }
  }
  return { mime: name, charset: '' }
}

/** Whether it is a page for a browser, and not a file. */
export function isHtml(mime: string): boolean {
  return mime === 'text/html' || mime === 'application/xhtml+xml'
}

/** Whether headers announce HTML for viewing. As an attachment it is a file to keep. */
export function isPage(headers: Readonly<Record<string, unknown>>): boolean {
  return (
    isHtml(parseContentType(String(headers['content-type'] ?? '')).mime) &&
    !/^\s*attachment\b/i.test(String(headers['content-disposition'] ?? ''))
  )
}

/** Whether the first bytes of an answer without a type look like a page. An empty body is an empty page. */
export function looksLikeHtml(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 1024)).toString('latin1')
  // NULs may be UTF-16; the byte order mark of either encoding may come first.
  const text = start.replace(/^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)/, '').replaceAll('\0', '')
  return (
    text === '' || /^\s*<(?:!doctype\s+html|!--|\/?[a-z][a-z0-9]*[\s>/]|\?xml[^>]*>\s*<!doctype\s+html)/i.test(text)
  )
}
