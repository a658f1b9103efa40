import { stripVTControlCharacters } from 'node:util'

/** What moves the cursor, rings, or sets a title, when escape sequences are out. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g
/** What changes the direction of the text around it. */
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** What cannot be seen at all; joiners stay, which make one emoji of several. */
const INVISIBLE = /[\u00ad\u200b\u2060-\u206f\ufeff\ufff9-\ufffb]/g

/** Text of strangers for a terminal, lines and tabs as they are: it may not move the cursor, ring, or set a title. */
export function harmless(text: string): string {
  return stripVTControlCharacters(text).replace(CONTROL, '')
}

/** The same as one line, which cannot turn the direction of what stands beside it, nor hide anything. */
export function oneLine(text: string): string {
  const seen = text.toWellFormed().replace(BIDI, '').replace(INVISIBLE, '')
  return harmless(seen.replace(/\s+/g, ' ')).trim()
}
