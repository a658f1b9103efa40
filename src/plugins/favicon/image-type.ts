/** First bytes, as Latin-1 text, and their offset. */
const SIGNATURES: readonly (readonly [offset: number, text: string])[] = [
  [0, '\x00\x00\x01\x00'], // ICO
  [0, '\x00\x00\x02\x00'], // CUR
  [0, '\x89PNG\r\n\x1a\n'],
  [0, 'GIF87a'],
  [0, 'GIF89a'],
  [0, '\xff\xd8\xff'], // JPEG
  [8, 'WEBP'],
  [0, 'BM'], // Windows bitmap
  [4, 'ftypavif'],
]

/** Whether these bytes are a picture that browsers show. An error page with an image's content type is not. */
export function isImage(bytes: Uint8Array): boolean {
  const start = head(bytes, 32)
  return SIGNATURES.some(([offset, text]) => start.startsWith(text, offset)) || isSvg(bytes)
}

/** SVG: XML whose first element, after declarations and comments, is svg. */
export function isSvg(bytes: Uint8Array): boolean {
  return /^(?:\xef\xbb\xbf)?\s*(?:<\?[^>]*>\s*|<!--[\s\S]*?-->\s*|<!doctype\s+svg[^>]*>\s*)*<svg[\s>/]/i.test(
    head(bytes, 4096),
  )
}

function head(bytes: Uint8Array, length: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, length)).toString('latin1')
}
