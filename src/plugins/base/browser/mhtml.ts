import type { Visit } from '../visit.ts'
import type { Tab } from './tab.ts'

/** The page and all that it shows, as the browser saves it (MHTML); taken once per visit. */
export function mhtmlOf(tab: Tab, visit: Visit | undefined): Promise<string> {
  const take = async () => (await tab.send('Page.captureSnapshot', { format: 'mhtml' })).data
  return visit ? visit.once('mhtml', take) : take()
}

/** A file in an MHTML document. */
export interface Part {
  /** Media type, lower case, without parameters. */
  readonly type: string
  /** Its URL, and the `cid:` URL by which frames are referred to. */
  readonly urls: readonly string[]
  readonly body: Buffer
}

/** The files of an MHTML document; the first is the page (RFC 2557, as Chromium writes it). */
export function partsOf(mhtml: string): Part[] {
  const boundary = /boundary="([^"]+)"/.exec(mhtml)?.[1]
  if (boundary === undefined) return []
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
