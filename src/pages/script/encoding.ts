/** Decodes text as a browser would. */
export function textOf(bytes: Uint8Array): string {
  const [a, b, c] = bytes
  const mark = a === 0xfe && b === 0xff ? 'utf-16be' : a === 0xff && b === 0xfe ? 'utf-16le' : undefined
  const isMarked = a === 0xef && b === 0xbb && c === 0xbf
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, 1024))
  const declared = /<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]+)/i.exec(head)?.[1]
  const label = mark ?? (isMarked ? 'utf-8' : declared?.replace(/^utf-16.*/i, 'utf-8'))
  try {
    return new TextDecoder(label ?? 'utf-8', { fatal: label === undefined }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

/** The bytes of a text in base64. */
export const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
