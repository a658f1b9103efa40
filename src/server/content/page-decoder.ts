import { isAscii } from 'node:buffer'
import { TextDecoder } from 'node:util'
import sniff from 'html-encoding-sniffer'

/**
 * Reads a page in its encoding: what its beginning says, by a byte order mark or a declaration. Bytes beyond ASCII that
 * are valid UTF-8 are that, whatever it says: other text never is by accident for longer than a word.
 * @param isAll is there no more of it?
 */
export function pageDecoder(head: Buffer, isAll: boolean): TextDecoder {
  const said = sniff(head, { defaultEncoding: '' })
  try {
    return new TextDecoder(said.startsWith('UTF-16') || !isLikeUtf8(head, said, isAll) ? said : 'UTF-8')
  } catch {
    return new TextDecoder('windows-1252') // It says nothing, or what no Node knows.
  }
}

function isLikeUtf8(head: Buffer, said: string, isAll: boolean): boolean {
  // What is ASCII so far may become what it says it is; of ISO-2022 everything is.
  if (isAscii(head)) return said === '' || (isAll && !said.startsWith('ISO-2022'))
  try {
    new TextDecoder('UTF-8', { fatal: true }).decode(head, { stream: !isAll })
    return true
  } catch {
    return false
  }
}
