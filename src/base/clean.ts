import { stripVTControlCharacters } from 'node:util'
import { withoutUrlSecrets } from './url-secrets.ts'

/** What moves the cursor, rings, or sets a title, when escape sequences are out. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g
/** What changes the direction of the text around it. */
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** What cannot be seen at all; joiners stay, which make one emoji of several. */
const INVISIBLE = /[\u00ad\u200b\u2060-\u206f\ufeff\ufff9-\ufffb]/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const ESCAPE = /[\u001b\u009b]/
/** Before each sequence: one without an end would be read on to the end of the text, from each of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const SEQUENCES = /(?=\u009b|\u001b(?!\\))/

/** Text of strangers for a terminal, lines and tabs as they are: it may not move the cursor, ring, or set a title. */
export function harmless(text: string): string {
  if (!ESCAPE.test(text)) return text.replace(CONTROL, '')
  return text.split(SEQUENCES).map(stripVTControlCharacters).join('').replace(CONTROL, '')
}

/** Text of data for a terminal: its lines and tabs, and nothing that turns the direction of what stands beside it. */
export function legible(text: string): string {
  return harmless(text.replace(BIDI, ''))
}

const NOT_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** JSON for a terminal: the same JSON, with what JSON leaves as it is and a terminal acts on written as `\uXXXX`. */
export function escapedJson(json: string): string {
  return json.replace(NOT_IN_JSON, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const COLOUR = /(\u001b\[(?:[0-4]|2[1-4]|3[0-79]|9[0-7])m)/

/** A line of ours for a terminal: with the colours that we gave it, and nothing else. */
export function coloured(line: string): string {
  return line
    .split(COLOUR)
    .map((part, at) => (at % 2 === 1 ? part : harmless(part)))
    .join('')
}

/** The same as one line, which cannot turn the direction of what stands beside it, nor hide anything. */
export function oneLine(text: string): string {
  const seen = text.toWellFormed().replace(BIDI, '').replace(INVISIBLE, '')
  return harmless(seen.replace(/\s+/g, ' ')).trim()
}

/** The same without what lets somebody in by a URL: for progress, which others see, too. */
export function discreet(text: string): string {
  return oneLine(withoutUrlSecrets(text))
}
