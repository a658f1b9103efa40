import { describe, expect, it } from 'vitest'
import { CopyText } from '../../../src/db/backup/copy-text.ts'

/** Rows as COPY writes them: a backslash is doubled, so none is `\.`; an empty text is an empty line. */
const TABLES: Readonly<Record<string, string>> = {
  none: '',
  words: 'one\ttwo\n\\\\.\n\n.\n',
  empty: '\n',
  end: '\\N\n',
}
const TEXT = Object.entries(TABLES)
  .map(([name, rows]) => `${CopyText.begin(name)}${rows}${CopyText.end}`)
  .join('')

async function* cut(text: string, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size))
}

async function read(chunks: AsyncIterable<Buffer>): Promise<Record<string, string>> {
  const text = new CopyText(chunks)
  const found: Record<string, string> = {}
  for (let name = await text.table(); name !== undefined; name = await text.table()) {
    found[name] = ''
    for await (const rows of text.rows()) found[name] += rows.toString()
  }
  return found
}

describe('the text of a backup', () => {
  it('is the same however it is cut', async () => {
    for (let size = 1; size <= TEXT.length; size += 1) expect(await read(cut(TEXT, size)), `${size}`).toEqual(TABLES)
  })

  it('that ends within the rows of a table is refused', async () => {
    await expect(read(cut(TEXT.slice(0, -2), 5))).rejects.toThrow('ends within the rows')
  })
})
