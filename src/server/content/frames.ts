import { Parser } from 'htmlparser2'
import { type Asked, INNER } from './asked.ts'
import { type Attribute, MOST_OF_FRAME, readTag, TAG_END } from './read-tag.ts'

// When a frame's tag contains its document in an attribute, that document is sent separately when the frame requests
// it: at the address of its page, with the position of the tag in that page. Frames in such a document work the same
// way.

/** How deep such frames may be nested. */
const MOST_DEPTH = 4

/** The beginning of the addresses of a document's frames; undefined: it is nested as deep as allowed. */
export function framesOf({ query, frames }: Pick<Asked, 'query' | 'frames'>): string | undefined {
  if (frames.length >= MOST_DEPTH) return undefined
  const own = query === undefined ? '' : `${plainly(query)}&amp;`
  return `?${own}${INNER}=${frames.map((at) => `${at}.`).join('')}`
}

/** A query that is safe in an attribute without quotes. */
function plainly(query: string): string {
  const byBytes = (char: string) =>
    [...Buffer.from(char)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  return query.replace(/[^\w%./~:@,;+=-]/gu, (char) => (char === '&' ? '&amp;' : byBytes(char)))
}

/** The document in a frame's own attributes, `srcdoc` first; undefined: it has none. */
export function frameIn(kind: string, attributes: readonly Attribute[]): (() => string) | undefined {
  const first = (wanted: string) => attributes.find(({ name }) => name === wanted)?.value
  const srcdoc = kind === 'iframe' ? first('srcdoc') : undefined
  // Such a document is never read in quirks mode.
  if (srcdoc !== undefined) return () => `<!doctype html>${plain(srcdoc)}`
  const [, base64] = DATA.exec(first('src') ?? '') ?? []
  return base64 === undefined ? undefined : () => Buffer.from(base64, 'base64').toString()
}

/** A document in the address of a frame, as `singlefile` writes one. */
const DATA = /^data:text\/html;charset=utf-8;base64,([\w+/=]*)$/

/**
 * The document of a frame, possibly nested in frames of a page.
 * @param page its text, in parts
 * @param frames the position of each tag in the document that it is in
 * @returns undefined: there is none
 */
export async function frameDocument(
  page: AsyncIterable<string>,
  [first, ...inner]: readonly number[],
): Promise<string | undefined> {
  let text = first === undefined ? undefined : await tagAt(page, first)
  for (const at of inner) text = text === undefined ? undefined : documentAt(text, at)
  return text
}

/** Reads a page up to the end of that tag. */
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
  const { attributes, end } = readTag(text, start, MOST_OF_FRAME)
  return end === 'whole' ? frameIn(found[1]!.toLowerCase(), attributes)?.() : undefined
}

/** The value of an attribute, with references replaced. */
function plain(value: string): string {
  if (!value.includes('&')) return value
  let text = ''
  const parser = new Parser({ onattribute: (_name, found) => (text = found) })
  parser.end(`<i x="${value.replaceAll('"', '&quot;')}">`)
  return text
}
