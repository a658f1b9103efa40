/** The fields by which replay finds a record: numbers are text in a CDXJ. */
export interface IndexFields {
  readonly url: string
  readonly mime: string
  readonly status: string
  readonly digest: string
  readonly length: string
  readonly offset: string
  readonly filename: string
  readonly [name: string]: string
}

/** One line of an index: the key, which is the URL in sort order and the time in 14 digits, and the fields. */
export interface IndexLine {
  readonly key: string
  readonly fields: IndexFields
}

export function lineText({ key, fields }: IndexLine): string {
  return `${key} ${JSON.stringify(fields)}\n`
}

/** The lines of an index. */
export function linesIn(index: string): IndexLine[] {
  const lines = index.split('\n').filter((line) => line !== '')
  return lines.map((line) => {
    const at = line.indexOf(' {')
    return { key: line.slice(0, at), fields: JSON.parse(line.slice(at + 1)) as IndexFields }
  })
}

/** The time of a line, in ISO 8601. */
export function timeOf({ key }: IndexLine): string {
  return key.slice(-14).replace(/^(....)(..)(..)(..)(..)(..)$/, '$1-$2-$3T$4:$5:$6Z')
}

/** When the last response for a URL arrived: the browser's comes after our own. */
export function capturedAt(url: string, lines: readonly IndexLine[]): string | undefined {
  const line = lines.findLast(({ fields }) => fields.url === url)
  return line && timeOf(line)
}
