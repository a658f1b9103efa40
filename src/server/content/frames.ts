import { Parser } from 'htmlparser2'
import { type Asked, INNER } from './asked.ts'
import { type Attribute, MOST_OF_FRAME, readTag, TAG_END } from './read-tag.ts'

// A document that a frame has as an attribute is sent by itself, as whoever shows the frame asks for it: at the address
// of the page that it is in, with the place of the frame's tag in that page. In such a document it is the same again.

/** So many are one in another. */
const MOST_DEPTH = 4

/** How the addresses of the frames of a document begin; undefined: it is as deep as they go. */
export function framesOf({ query, frames }: Pick<Asked, 'query' | 'frames'>): string | undefined {
  if (frames.length >= MOST_DEPTH) return undefined
  const own = query === undefined ? '' : `${plainly(query)}&amp;`
  return `?${own}${INNER}=${frames.map((at) => `${at}.`).join('')}`
}

/** A query as an attribute without quotes says it, wherever a reader sees that. */
function plainly(query: string): string {
  const byBytes = (char: string) =>
    [...Buffer.from(char)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  return query.replace(/[^\w%./~:@,;+=-]/gu, (char) => (char === '&' ? '&amp;' : byBytes(char)))
}

/** The document in a frame's own attributes, `srcdoc` first; undefined: it has none. */
export function frameIn(kind: string, attributes: readonly Attribute[]): (() => string) | undefined {
  const first = (wanted: string) => attributes.find(({ name }) => name === wanted)?.value
  const srcdoc = kind === 'iframe' ? first('srcdoc') : undefined
  // Such a document is never read as those of old browsers.
  if (srcdoc !== undefined) return () => `<!doctype html>${plain(srcdoc)}`
  const [, base64] = DATA.exec(first('src') ?? '') ?? []
  return base64 === undefined ? undefined : () => Buffer.from(base64, 'base64').toString()
}

/** A document in the address of a frame, as `singlefile` writes one. */
const DATA = /^data:text\/html;charset=utf-8;base64,([\w+/=]*)$/

/**
 * The document of a frame in frames of a page.
 * @param page its text, in parts
 * @param frames the place of each one's tag in the document that it is in. @returns undefined: there is none
 */
export async function frameDocument(
  page: AsyncIterable<string>,
  [first, ...inner]: readonly number[],
): Promise<string | undefined> {
  let text = first === undefined ? undefined : await tagAt(page, first)
  for (const at of inner) text = text === undefined ? undefined : documentAt(text, at)
  return text
}

/** Reads a page as far as to the end of that tag. */
async function tagAt(page: AsyncIterable<string>, at: number): Promise<string | undefined> {
  let [before, text, enough] = [0, '', 0]
  for await (const part of page) {
    text += part
    if (before + text.length <= at) [before, text] = [before + text.length, '']
    else if (text.length >= enough) {
      const found = documentAt(text, at - before)
      if (found !== undefined || text.length - (at - before) > MOST_OF_FRAME) return found
      enough = 2 * text.length
    }
  }
  return documentAt(text, at - before)
}

const FRAME = new RegExp(`<(i?frame)(?=${TAG_END})`, 'iy')

function documentAt(text: string, at: number): string | undefined {
  FRAME.lastIndex = at
  const found = FRAME.exec(text)
  if (!found) return undefined
  const start = at + found[0].length
  const { attributes, isWhole } = readTag(text, start, Math.min(text.length, start + MOST_OF_FRAME))
  return isWhole ? frameIn(found[1]!.toLowerCase(), attributes)?.() : undefined
}

/** What an attribute says, references replaced. */
function plain(value: string): string {
  if (!value.includes('&')) return value
  let text = ''
  const parser = new Parser({ onattribute: (_name, found) => (text = found) })
  parser.end(`<i x="${value.replaceAll('"', '&quot;')}">`)
  return text
}
