import type { Fields } from './fields.ts'

/** How much may precede the list in an object. */
const LONGEST_HEAD = 10_000

/** A place to go on from. */
interface Place {
  readonly at: number
  readonly line: number
  readonly lineBegin: number
}

/** An object in a list of entries, or the document itself, while it is read. */
export interface OpenEntry {
  readonly begin: number
  readonly depth: number
  readonly line: number
  readonly indent: number
  /** What came before `begin`, if it holds lists of entries: without these, and up to the latest. */
  readonly head: string
  /** Where the next entry begins, if this one lacks its end. */
  readonly doubt: Place | undefined
}

/** The same entry when so much of the text before it is dropped. */
export function moved(entry: OpenEntry, by: number): OpenEntry {
  const { begin, doubt } = entry
  return {
    ...entry,
    begin: begin - by,
    doubt: doubt && { ...doubt, at: doubt.at - by, lineBegin: doubt.lineBegin - by },
  }
}

/**
 * The fields of an entry before a list in it.
 * @param head until the list is open
 * @param depth of the list in the entry
 */
export function fieldsBefore(head: string, depth: number): Fields | undefined {
  if (head.length > LONGEST_HEAD) return undefined
  try {
    return JSON.parse(`${head}]${'}'.repeat(depth)}`) as Fields
  } catch {
    return undefined
  }
}
