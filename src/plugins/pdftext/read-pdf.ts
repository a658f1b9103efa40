import { getDocumentProxy } from 'unpdf'
import { AppError, messageOf } from '../../base/errors.ts'
import { own } from '../../base/own.ts'

export interface PdfText {
  /** Pages are separated by form feeds, as pdftotext does. */
  readonly text: string
  readonly title: string | null
  readonly author: string | null
  readonly subject: string | null
  readonly keywords: string | null
  /** ISO 8601, with a time zone if the file has one. */
  readonly created: string | null
  readonly producer: string | null
  /** All pages of the file. */
  readonly pages: number
  /** Of those that were read: scanned ones, for example. */
  readonly pages_without_text: number
  /** Fewer than `pages` when the file has more than requested. */
  readonly pages_read: number
}

/** Reads the first `most` pages. Throws AppError for a file that is damaged or locked by a password. */
export async function readPdf(bytes: Buffer, most: number, signal: AbortSignal): Promise<PdfText> {
  // It takes over the bytes, which must not be those of a pool.
  const pdf = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 }).catch(refuse)
  try {
    const { info } = (await pdf.getMetadata().catch(() => ({ info: {} }))) as { info: Record<string, unknown> }
    const texts: string[] = []
    const read = Math.min(pdf.numPages, most)
    for (let number = 1; number <= read; number += 1) {
      signal.throwIfAborted()
      texts.push(await pageText(pdf, number))
    }
    const word = (key: string) => {
      const given = own(info, key)
      return (typeof given === 'string' && given.trim()) || null
    }
    return {
      text: texts.join('\f').trim() && texts.join('\f'),
      title: word('Title'),
      author: word('Author'),
      subject: word('Subject'),
      keywords: word('Keywords'),
      created: dateOf(word('CreationDate')),
      producer: word('Producer'),
      pages: pdf.numPages,
      pages_without_text: texts.filter((text) => text === '').length,
      pages_read: read,
    }
  } finally {
    await pdf.loadingTask.destroy()
  }
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>

/** The text of a page in the order of the file, with its line breaks; '' for one that cannot be read. */
async function pageText(pdf: Pdf, number: number): Promise<string> {
  const page = await pdf.getPage(number).catch(refuse)
  const { items } = await page.getTextContent()
  page.cleanup()
  return items
    .map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : ''))
    .join('')
    .replace(/\0/g, '')
    .replace(/(?<![ \t])[ \t]+\n/g, '\n')
    .trim()
}

function refuse(error: unknown): never {
  const name = error instanceof Error ? error.name : ''
  if (name === 'PasswordException') throw new AppError('locked by a password')
  throw new AppError(`a damaged PDF: ${messageOf(error)}`, { cause: error })
}

/** `D:20261122061335+01'00'` */
function dateOf(text: string | null): string | null {
  const [, year, month = '01', day = '01', hour = '00', minute = '00', second = '00', zone, zoneHour, zoneMinute] =
    /^(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([Z+-])(?:(\d\d)'?(\d\d)?)?)?/.exec(text ?? '') ?? []
  if (year === undefined) return null
  const offset = zone === undefined ? '' : zone === 'Z' || !zoneHour ? 'Z' : `${zone}${zoneHour}:${zoneMinute ?? '00'}`
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`
}
