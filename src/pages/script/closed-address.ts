import { bytesOf, textOf } from './encoding.ts'

const NOWHERE = 'data:,'
/** An address before a comma, or one with a descriptor. No position is matched twice. */
const CANDIDATE = /[^\s,]\S*,(?=\s|$)|[^\s,]\S*[^,]*/g

/**
 * A safe address in a copy: of a file in the folder of this page, of a place in the copy, or of nothing. On some
 * systems a file has a host (`file://host/share`), which would be contacted.
 * @param isSheet of a style sheet: nobody would rewrite its requests
 */
export function closedAddress(address: string, base: string, isSheet = false): string {
  const text = address.trim()
  if (/^(?:#|data:|about:)/i.test(text)) return isSheet ? NOWHERE : address
  const folder = new URL('.', location.href).href
  const isInside = !URL.canParse(text) && !/%(?:2f|5c)/i.test(text) && URL.parse(text, base)?.href.startsWith(folder)
  return isInside ? address : NOWHERE
}

/** A `srcset` list. */
export function closedCandidates(list: string, base: string): string {
  return list.replace(CANDIDATE, (candidate) => {
    // A comma at the end of its address would end it.
    const address = (/^\S+/.exec(candidate)?.[0] ?? '').replace(/,$/, '')
    return closedAddress(address, base) === address ? candidate : `${NOWHERE}-${candidate.slice(address.length)}`
  })
}

/** The text of a style sheet in its own address. */
export function sheetIn(address: string): string {
  const [, type = '', text] = /^\s*data:([^,]*),([\s\S]*)$/i.exec(address) ?? []
  if (text === undefined) return ''
  try {
    const plain = decodeURIComponent(text)
    return /;\s*base64\s*$/i.test(type) ? textOf(bytesOf(plain)) : plain
  } catch {
    return '' // In no encoding that we know.
  }
}
