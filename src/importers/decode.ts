import { isAscii, isUtf8 } from 'node:buffer'

/** How much of a text is read to find its encoding. */
const HEAD_BYTES = 1_024
const NEWLINE = 0x0a
const DECLARED = /^\s*<\?xml[^>]*encoding=["']([\w-]+)|<meta[^>]*charset=["']?([\w-]+)/i

/**
 * Text from bytes: UTF-16 by its byte order mark or its zeros, else UTF-8, else what the text declares, else
 * windows-1252. The first bytes beyond ASCII decide.
 */
export async function* decoded(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined
  let fallback: string | undefined
  let isKnownUtf8 = false
  let rest: Buffer = Buffer.alloc(0)
  const textOf = (bytes: Buffer): string => {
    if (decoder) return decoder.decode(bytes, { stream: true })
    if (isAscii(bytes)) return bytes.toString('latin1')
    isKnownUtf8 ||= isUtf8(bytes)
    if (isKnownUtf8) return bytes.toString('utf8')
    decoder = new TextDecoder(fallback)
    return decoder.decode(bytes, { stream: true })
  }
  for await (const chunk of chunks) {
    let bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    if (fallback === undefined) {
      const utf16 = utf16In(bytes.subarray(0, HEAD_BYTES))
      if (utf16) decoder = new TextDecoder(utf16)
      else if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3)
      fallback = declaredIn(bytes.subarray(0, HEAD_BYTES))
    }
    // No character is cut: a line ends with a complete character, and so does every ASCII byte.
    const end = decoder ? bytes.length : wholeUntil(bytes)
    rest = bytes.subarray(end)
    if (end > 0) yield textOf(bytes.subarray(0, end))
  }
  if (rest.length > 0) yield textOf(rest)
  if (decoder) yield decoder.decode()
}

/** The same for bytes that are all there. */
export async function textOf(bytes: Buffer): Promise<string> {
  let text = ''
  for await (const part of decoded(once(bytes))) text += part
  return text
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value
}

function wholeUntil(bytes: Buffer): number {
  const line = bytes.lastIndexOf(NEWLINE) + 1
  if (line > 0) return line
  for (let end = bytes.length; end > bytes.length - 4 && end > 0; end -= 1) if (bytes[end - 1]! < 0x80) return end
  return 0
}

function utf16In(head: Buffer): string | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be'
  const zeros = [0, 0]
  for (const [at, byte] of head.entries()) if (byte === 0) zeros[at % 2]! += 1
  const most = head.length / 4
  return zeros[1]! > most ? 'utf-16le' : zeros[0]! > most ? 'utf-16be' : undefined
}

function declaredIn(head: Buffer): string {
  const [, xml, meta] = DECLARED.exec(head.toString('latin1')) ?? []
  try {
    const { encoding } = new TextDecoder(xml ?? meta)
    return encoding === 'utf-8' ? 'windows-1252' : encoding
  } catch {
    return 'windows-1252'
  }
}
