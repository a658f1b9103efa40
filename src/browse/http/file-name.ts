import { extensionOf } from '../../base/mime.ts'
import { percentDecoded } from '../../base/percent-decoded.ts'

/** Common file systems allow 255 bytes; additions to a name (a suffix, a number) must still fit. */
const MAX_BYTES = 200

/**
 * Makes a name for a downloaded file: from Content-Disposition, else from the end of the URL's path. It is always one
 * plain component: letters and digits of any script, `.`, `_`, `-`; no leading dot, no name of a log file, at most 200
 * bytes, and an extension if the type implies one.
 */
export function fileName(url: string, disposition: string | undefined, mime: string): string {
  const raw = fromDisposition(disposition ?? '') ?? percentDecoded(new URL(url).pathname)
  const clean = lastComponent(raw)
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{N}._-]+/gu, '_')
    .replace(/(?<!\.)\.+$/, '')
  const own = /\.[\p{L}\p{N}]{1,10}$/u.exec(clean)?.[0] ?? ''
  const stem = clean.slice(0, clean.length - own.length).replace(/^[._]+/, '') || 'downloaded_file'
  const extension = isReserved(stem + own) ? `${own}.txt` : own || extensionOf(mime)
  return shortened(stem, MAX_BYTES - Buffer.byteLength(extension)) + extension
}

/** Whether hooks' runners use this name: such a file would not count as output. */
function isReserved(name: string): boolean {
  return /\.(?:log|pid)$/i.test(name) || name === 'cmd.sh'
}

/** filename* (RFC 5987) takes precedence over filename, as RFC 6266 requires. */
function fromDisposition(header: string): string | undefined {
  const extended = /\bfilename\*\s*=\s*"?([\w-]+)'[^']*'([^;"\s]+)/i.exec(header)
  if (extended && /^utf-8$/i.test(extended[1]!)) return percentDecoded(extended[2]!)
  const plain = /\bfilename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(header)
  return plain?.[1] !== undefined ? plain[1].replace(/\\(["\\])/g, '$1') : plain?.[2]
}

function lastComponent(path: string): string {
  return path.split(/[/\\]/).findLast((part) => part !== '') ?? ''
}

function shortened(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  const characters = [...text.slice(0, maxBytes)]
  while (Buffer.byteLength(characters.join('')) > maxBytes) characters.pop()
  return characters.join('').toWellFormed()
}
