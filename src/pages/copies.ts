import type { Outcome } from '../db/tables.ts'

/** A copy of a URL, as its other copies name it. */
export interface Copy {
  readonly sealedAt: Date
  readonly outcome: Outcome | null
  /** Of its folder, relative to the top of the archive. */
  readonly path: string
}

/** Where the copies of one URL are listed, relative to the top of the archive. @param urlHash SHA-256, hexadecimal */
export function copiesFile(urlHash: string): string {
  return `archive/urls/${urlHash.slice(0, 2)}/${urlHash.slice(2, 32)}.js`
}

/** The list of the copies of one URL: a script, as the chunks of the index are. */
export function copiesText(copies: readonly Copy[]): string {
  const list = copies.map(({ sealedAt, outcome, path }) => [sealedAt.toISOString(), outcome ?? '', path])
  return `copies(${JSON.stringify(list)})\n`
}

/** The folders of the copies that such a list names; none where it is not one. */
export function listedCopies(text: string): string[] {
  try {
    const list: unknown = JSON.parse(text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')))
    return Array.isArray(list) ? list.flatMap((copy) => (Array.isArray(copy) ? [String(copy[2])] : [])) : []
  } catch {
    return []
  }
}
