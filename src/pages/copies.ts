import type { Outcome } from '../db/tables.ts'

/** A copy of a URL, as listed by its other copies. */
export interface Copy {
  readonly sealedAt: Date
  readonly outcome: Outcome | null
  /** Of its folder, relative to the top of the archive. */
  readonly path: string
  /** The name of the other node that has it; '': it is here. */
  readonly node: string
}

/** The path of the list of a URL's copies, relative to the top of the archive. @param urlHash SHA-256, hexadecimal */
export function copiesFile(urlHash: string): string {
  return `archive/urls/${urlHash.slice(0, 2)}/${urlHash.slice(2, 32)}.js`
}

/** The list of the copies of one URL: a script, like the chunks of the index. */
export function copiesText(copies: readonly Copy[]): string {
  const list = copies.map(({ sealedAt, outcome, path, node }) => [
    ...[sealedAt.toISOString(), outcome ?? '', path],
    ...(node === '' ? [] : [node]),
  ])
  return `copies(${JSON.stringify(list)})\n`
}

/** The folders in such a list; none if it is invalid. */
export function listedCopies(text: string): string[] {
  try {
    const list: unknown = JSON.parse(text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')))
    return Array.isArray(list) ? list.flatMap((copy) => (Array.isArray(copy) ? [String(copy[2])] : [])) : []
  } catch {
    return []
  }
}
