import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { harmless } from '../../../src/base/clean.ts'
import { marked } from '../../../src/base/formula-mark.ts'
import { withoutValues } from '../../../src/browse/http/cookies.ts'
import { fileName } from '../../../src/browse/http/file-name.ts'
import type { Format } from '../../../src/importers/formats.ts'
import { readEntries } from '../../../src/importers/read.ts'
import { urlsInLine } from '../../../src/importers/text.ts'
import { textOf } from '../../../src/plugins/htmltotext/text-of.ts'
import { toMarkdown } from '../../../src/plugins/markdown/to-markdown.ts'
import { tooMuch } from '../../../src/plugins/markdown/too-much.ts'
import { isAnswered, savedPage, withoutCookies } from '../../../src/plugins/wget/wget-log.ts'

/** With the square of this, each of them would take minutes. */
const LENGTH = 1_000_000
const long = (piece: string) => piece.repeat(LENGTH / piece.length)

async function imported(text: string, format: Format) {
  const chunks = Array.from({ length: Math.ceil(text.length / 65_536) }, (_, at) =>
    Buffer.from(text.slice(at * 65_536, (at + 1) * 65_536)),
  )
  const found = []
  for await (const batch of readEntries(Readable.from(chunks), format)) found.push(...batch)
  return found
}

describe('text that is made to be slow', () => {
  it.each<[string, () => unknown, unknown]>([
    ['commas before a word', () => urlsInLine(`${long(',')}x`).length, 1],
    [
      'a URL with brackets at its end',
      () => urlsInLine(`see http://a.example/${long('()')}))`)[0]?.length,
      LENGTH + 17,
    ],
    ['digits that are no number', () => marked(`${long('1')}x`).length, LENGTH + 1],
    [
      'dots in a name',
      () => fileName('http://a/', `attachment; filename="${long('.')}x"`, 'text/plain'),
      'downloaded_file.x',
    ],
    ['a Set-Cookie of line ends', () => withoutValues(`${long('\r')}a=b`), `${long('\r')}a=***`],
    ['escape sequences without an end', () => harmless(`${long('\u001b]')}x`).length, LENGTH / 2 + 1],
    ['blanks in preformatted text', () => textOf(`<pre>a${long(' ')}b`).length, LENGTH + 2],
    ['blanks in an article', () => toMarkdown(`<pre>a${long(' ')}b</pre>`).length, 210],
    ['an article with many parts', () => tooMuch(long('<br>')), 'too many elements beside each other'],
    ['an article with deep parts', () => tooMuch(long('<ul><li>')), 'nested deeper than 100 elements'],
    ['a log of wget with long lines', () => [savedPage(long(' URL:')), isAnswered(long('\r'))], [undefined, false]],
    [
      'empty lines in a log of wget',
      () => withoutCookies(`${long('\n')}Set-Cookie: a=b`).slice(-17),
      'Set-Cookie: a=***',
    ],
  ])('%s: is read all the same', async (_what, read, expected) => {
    expect(await read()).toEqual(expected)
  })

  const tooDeep = { broken: 'nested deeper than 10000 elements: what comes after that is left out', line: 1 }
  it.each<[Format, string, string]>([
    ['html', '<a href="http://a.example/">a</a>', '<b>'],
    ['rss', '<rss><item><link>http://a.example/</link></item>', '<b>'],
    ['opml', '<opml><outline xmlUrl="http://a.example/" />', '<outline>'],
  ])('a list (%s) that is nested without an end: counts as far as it can be read', async (format, head, piece) => {
    const found = await imported(head + long(piece), format)
    expect(found).toMatchObject([{ url: 'http://a.example/' }, tooDeep])
  })

  it('a line without an end: is put together once', async () => {
    const [first, second, ...others] = await imported(`${long('x')}\r\nhttp://a.example/\r`, 'txt')
    expect([first, second, others]).toMatchObject([{ line: 1 }, { url: 'http://a.example/', line: 2 }, []])
  })
})
