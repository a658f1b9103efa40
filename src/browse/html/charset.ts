import { isAscii, isUtf8 } from 'node:buffer'
import sniff from 'html-encoding-sniffer'

const BOM = Buffer.from([0xef, 0xbb, 0xbf])
/** Encodings in which ASCII bytes are not ASCII characters. */
const NOT_ASCII = /^(?:UTF-16|ISO-2022)/

/** The transport's statements about a page: the charset of its Content-Type, and whether it is XHTML. */
export interface Declared {
  readonly charset: string
  readonly xml: boolean
}

/** For a file on disk: nothing is known. */
export const UNDECLARED: Declared = { charset: '', xml: false }

/**
 * The encoding of a page (WHATWG name): byte order mark, then Content-Type, then its own declaration, else
 * windows-1252. One correction: bytes beyond ASCII that are valid UTF-8 are UTF-8, whatever a badly configured server
 * declares. Other text is never valid UTF-8 by accident for longer than a word.
 */
export function encodingOf(bytes: Uint8Array, declared: Declared): string {
  const label = declared.charset === '' ? {} : { transportLayerEncodingLabel: declared.charset }
  const found = sniff(bytes, { ...label, xml: declared.xml, defaultEncoding: '' })
  if (found.startsWith('UTF-16')) return found
  if (isAscii(bytes)) return found.startsWith('ISO-2022') ? found : 'UTF-8'
  if (isUtf8(bytes)) return 'UTF-8'
  return found === '' || found === 'replacement' || found === 'x-user-defined' ? 'windows-1252' : found
}

/** Removes the bytes of a UTF-8 character that is cut off at the end. */
export function withoutHalfCharacter(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if ((byte & 0xc0) === 0x80) continue // A continuation byte.
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.subarray(0, -back) : bytes
  }
  return bytes
}

/** Decodes a page; invalid bytes become U+FFFD, a byte order mark is removed. */
export function decodePage(bytes: Uint8Array, encoding: string): string {
  return new TextDecoder(encoding).decode(bytes)
}

/**
 * Converts a page into a form that a browser shows correctly from disk, without a Content-Type: the bytes as served if
 * they declare their encoding, else UTF-8 with a byte order mark, which takes precedence over every declaration inside.
 */
export function pageForDisk(bytes: Buffer, encoding: string): Buffer {
  const onDisk = sniff(bytes, { defaultEncoding: '' })
  if (onDisk === encoding) return bytes
  if (isAscii(bytes) && !NOT_ASCII.test(onDisk) && !NOT_ASCII.test(encoding)) return bytes
  return Buffer.concat([BOM, encoding === 'UTF-8' ? bytes : Buffer.from(decodePage(bytes, encoding))])
}
