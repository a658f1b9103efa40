import { bytesOf, textOf } from './encoding.ts'

const NOWHERE = 'data:,'
/** An address behind which a comma stands, or one with words about it. No place of it is tried again. */
const CANDIDATE = /[^\s,]\S*,(?=\s|$)|[^\s,]\S*[^,]*/g

/**
 * An address in a copy: of a file in the folder of this page, of a place in the copy, or of nothing. On some systems a
 * file has a host (`file://host/share`), which is asked for it.
 * @param isSheet of a style sheet: what it asks for would be read by nobody
 */
export function closedAddress(address: string, base: string, isSheet = false): string {
  const text = address.trim()
  if (/^(?:#|data:|about:)/i.test(text)) return isSheet ? NOWHERE : address
  const folder = new URL('.', location.href).href
  const isInside = !URL.canParse(text) && !/%(?:2f|5c)/i.test(text) && URL.parse(text, base)?.href.startsWith(folder)
  return isInside ? address : NOWHERE
}

/** A list of pictures to choose from. */
export function closedCandidates(list: string, base: string): string {
  return list.replace(CANDIDATE, (candidate) => {
    // A comma at the end of its address would end it.
    const address = (/^\S+/.exec(candidate)?.[0] ?? '').replace(/,$/, '')
    return closedAddress(address, base) === address ? candidate : `${NOWHERE}-${candidate.slice(address.length)}`
  })
}

/** The text of a style sheet that is its own address. */
export function sheetIn(address: string): string {
  const [, type = '', text] = /^\s*data:([^,]*),([\s\S]*)$/i.exec(address) ?? []
  if (text === undefined) return ''
  try {
    const plain = decodeURIComponent(text)
    return /;\s*base64\s*$/i.test(type) ? textOf(bytesOf(plain)) : plain
  } catch {
    return '' // No text in any code that we know.
  }
}
