import { isAscii } from 'node:buffer'
import { TextDecoder } from 'node:util'
import sniff from 'html-encoding-sniffer'

/**
 * Decodes a page in the encoding that its beginning declares, by a byte order mark or otherwise. Bytes beyond ASCII
 * that are valid UTF-8 count as that, whatever is declared: other text is never valid by accident for longer than a
 * word.
 * @param isAll whether `head` is all of it
 */
export function pageDecoder(head: Buffer, isAll: boolean): TextDecoder {
  const said = sniff(head, { defaultEncoding: '' })
  try {
    return new TextDecoder(said.startsWith('UTF-16') || !isLikeUtf8(head, said, isAll) ? said : 'UTF-8')
  } catch {
    return new TextDecoder('windows-1252') // Nothing is declared, or nothing that Node knows.
  }
}

function isLikeUtf8(head: Buffer, said: string, isAll: boolean): boolean {
  // Text that is ASCII so far may still be in the declared encoding; in ISO-2022 everything looks like ASCII.
  if (isAscii(head)) return said === '' || (isAll && !said.startsWith('ISO-2022'))
  try {
    new TextDecoder('UTF-8', { fatal: true }).decode(head, { stream: !isAll })
    return true
  } catch {
    return false
  }
}
