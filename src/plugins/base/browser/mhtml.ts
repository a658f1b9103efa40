import { AppError } from '../../../base/errors.ts'
import type { Tab } from './tab.ts'

const taken = new WeakMap<Tab, Promise<string>>()

/** The page and all that it shows, as the browser saves it (MHTML); taken once per tab. */
export function mhtmlOf(tab: Tab): Promise<string> {
  const known = taken.get(tab)
  if (known !== undefined) return known
  const mhtml = tab.send('Page.captureSnapshot', { format: 'mhtml' }).then(({ data }) => data)
  taken.set(tab, mhtml)
  return mhtml
}

/** A file in an MHTML document. */
export interface Part {
  /** Media type, lower case, without parameters. */
  readonly type: string
  /** Its URL, and the `cid:` URL by which frames are referred to. */
  readonly urls: readonly string[]
  readonly body: Buffer
}

/** The files of an MHTML document; the first is the page (RFC 2557, as Chromium writes it). Throws AppError. */
export function partsOf(mhtml: string): Part[] {
  const boundary = /^\s+boundary="([^"]+)"/m.exec(mhtml.slice(0, mhtml.indexOf('\r\n\r\n')))?.[1]
  if (boundary === undefined) throw new AppError('the browser saved no MHTML document')
  return mhtml
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((piece) => {
      const end = piece.indexOf('\r\n\r\n')
      const head = piece.slice(0, end)
      const field = (name: string) => new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim()
      const id = field('Content-ID')?.replace(/^<|>$/g, '')
      const urls = [field('Content-Location'), id && `cid:${id}`].filter((url) => url !== undefined && url !== '')
      const text = piece.slice(end + 4).replace(/\r\n$/, '')
      return {
        type: field('Content-Type')?.split(';')[0]?.toLowerCase() ?? '',
        urls: urls as string[],
        body: decode(text, field('Content-Transfer-Encoding')?.toLowerCase() ?? ''),
      }
    })
}

function decode(text: string, encoding: string): Buffer {
  if (encoding === 'base64') return Buffer.from(text, 'base64')
  if (encoding !== 'quoted-printable') return Buffer.from(text, 'utf8')
  const bytes = text
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return Buffer.from(bytes, 'latin1')
}
