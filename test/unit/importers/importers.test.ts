import { describe, expect, it } from 'vitest'
import type { Found } from '../../../src/importers/entry.ts'
import { entriesIn, row } from '../../support/entries.ts'
import { EXPORTS } from '../../support/exports.ts'

const urls = async (list: string | Buffer) =>
  (await entriesIn(list)).map((found) => ('url' in found ? found.url : found))

describe('an export', () => {
  it.each(Object.entries(EXPORTS))(
    'of %s is found out and read whole, however it is cut',
    async (_, { list, entries }) => {
      for (const pieces of [65_536, 1, 7, 64])
        expect((await entriesIn(list, undefined, pieces)).map(row)).toEqual(entries)
    },
  )
})

describe('text', () => {
  it.each([
    ['example.com', ['https://example.com']],
    ['localhost:8000/x 10.0.0.1, foo.org', ['http://localhost:8000/x', 'http://10.0.0.1', 'https://foo.org']],
    ['"https://a.example/x",', ['https://a.example/x']],
    ['see (https://b.example/y_(z)), and www.c.example.', ['https://b.example/y_(z)', 'https://www.c.example']],
    ['see https://a.example/foo)bar/baz now', ['https://a.example/foo)bar/baz']],
    ['[a](https://md.example/a)', ['https://md.example/a']],
    ['[https://a.example/x](https://a.example/x)', ['https://a.example/x', 'https://a.example/x']],
    ['[![B](https://i.example/x.svg)](https://b.example/x)', ['https://i.example/x.svg', 'https://b.example/x']],
    ['[a](https://a.example/a),[b](https://b.example/b)', ['https://a.example/a', 'https://b.example/b']],
    ['see https://a.example/(x),[y],z?b[]=1', ['https://a.example/(x),[y],z?b[]=1']],
    ['https://a.example/x_(y),z', ['https://a.example/x_(y),z']],
    ['see https://a.example/\u200b', ['https://a.example/']],
    ['\u201chttps://q.example/\u201d said he', ['https://q.example/']],
    ['# https://comment.example', []],
    ['nothing here', ['nothing here']],
    ['javascript:alert(1)', ['javascript:alert(1)']],
    ['file:///etc/passwd', ['file:///etc/passwd']],
    ['me@example.com', ['me@example.com']],
  ])('%s', async (line, expected) => {
    expect(await urls(`${line}\n`)).toEqual(expected)
  })

  it('has its lines counted, whatever ends them', async () => {
    const found = await entriesIn('a.example\r\nb.example\rc.example\n\nd.example')
    expect(found.map(({ line }) => line)).toEqual([1, 2, 3, 5])
  })
})

describe('an encoding', () => {
  const list = 'https://\u00fc.example/\u00e4\nhttps://b.example/\u20ac\n'
  const utf16be = Buffer.from(list, 'utf16le').swap16()
  it.each([
    ['UTF-8', Buffer.from(list)],
    ['UTF-8 with its mark', Buffer.from(`\ufeff${list}`)],
    ['UTF-16', Buffer.from(`\ufeff${list}`, 'utf16le')],
    ['UTF-16 without its mark', Buffer.from(list, 'utf16le')],
    ['UTF-16 the other way round', utf16be],
  ])('%s is found out', async (_, bytes) => {
    for (const pieces of [65_536, 1, 3])
      expect((await entriesIn(bytes, undefined, pieces)).map(row)).toEqual([
        { url: 'https://\u00fc.example/\u00e4' },
        { url: 'https://b.example/\u20ac' },
      ])
  })

  it('that is not UTF-8 is what the text declares, else windows-1252, also when it shows late', async () => {
    const late = 'https://a.example/\n'.repeat(10_000)
    const latin = Buffer.from(`${late}https://a.example/\u00e9\n`, 'latin1')
    expect((await entriesIn(latin)).at(-1)).toMatchObject({ url: 'https://a.example/\u00e9' })
    const greek = Buffer.concat([
      Buffer.from('<?xml version="1.0" encoding="iso-8859-7"?><rss><item><link>https://a.example</link><title>'),
      Buffer.from([0xe1]),
      Buffer.from('</title></item></rss>'),
    ])
    expect((await entriesIn(greek)).map(row)).toEqual([{ url: 'https://a.example', title: '\u03b1' }])
  })
})

describe('JSON', () => {
  const tags = [{ name: 'x' }, { name: 'y' }]
  const documents = [
    [1, 2, 3].map((n) => ({ url: `https://${n}.example/`, tags })),
    { items: [1, 2, 3].map((n) => ({ meta: { a: [{}] }, tags, url: `https://${n}.example/` })) },
  ]
  const layouts: [string, (document: unknown) => string][] = [
    ['without indentation', (document) => lines(document, 0)],
    ['with braces of two objects in a line', (document) => lines(document, 2).replaceAll(/\},\s+\{/g, '}, {')],
    ['as PostgreSQL prints it', (document) => JSON.stringify(document).replaceAll('},{', '}, \n {')],
    ['with braces in lines of their own', (document) => lines(document, 0).replaceAll(/([{[])/g, '\n$1')],
  ]
  it.each(layouts)('%s is read whole', async (_, layout) => {
    for (const pieces of [65_536, 1, 7])
      for (const document of documents)
        expect((await entriesIn(layout(document), 'json', pieces)).map(row)).toEqual(
          [1, 2, 3].map((n) => ({ url: `https://${n}.example/`, tags: ['x', 'y'] })),
        )
  })

  it.each([0, 1, undefined])(
    'keeps an entry that has lists of entries, after these: indentation %s',
    async (indent) => {
      const document = [
        {
          id: 1,
          links: [{ url: 'https://1.example/' }],
          title: 'A',
          children: ['https://2.example/'],
          url: 'https://a.example/',
        },
        { urls: [], children: [12, 13], url: 'https://b.example/', title: 'B' },
        { name: 'none', links: [] },
        { children: [{ links: [{ url: 'https://3.example/' }], name: 'folder' }], more: { items: [] }, name: 'no URL' },
      ]
      for (const pieces of [65_536, 1, 7])
        expect((await entriesIn(JSON.stringify(document, null, indent), 'json', pieces)).map(row)).toEqual([
          { url: 'https://1.example/' },
          { url: 'https://2.example/' },
          { url: 'https://a.example/', title: 'A' },
          { url: 'https://b.example/', title: 'B' },
          { url: 'https://3.example/' },
        ])
    },
  )

  it('names an entry that is broken behind its list of entries', async () => {
    const list = '[{"url":"https://a.example/","links":[\n{"url":"https://1.example/"}],"title":}\n]'
    expect((await entriesIn(list)).map(row)).toEqual([{ url: 'https://1.example/' }, { broken: 1 }])
  })
})

/** With each value in a line of its own. */
const lines = (document: unknown, indent: number) =>
  JSON.stringify(document, null, indent || '\u0001').replaceAll('\u0001', '')

describe('broken JSON', () => {
  const entry = (n: number) => `{"href":"https://${n}.example/","description":"T","extended":"","tags":""}`
  const broken = [
    '{"href":"https://x.example/", "description":,"tags":""}',
    '{"href":"https://x.example/","description":"T}',
    '{"href":"https://x.example/","extended":',
    '{"href":"https://x.example/","tags":[}',
    '{"href":"https://x.example/","tags":[{"name":"x"}',
    '{"href":"https://x.example/"',
    'href":"https://x.example/"}',
    'nothing',
  ]
  it.each(broken)('costs one entry of a list, and its line is named: %s', async (line) => {
    const lines = [`[${entry(1)}`, entry(2), line, entry(4), `${entry(5)}]`]
    for (const pieces of [65_536, 5]) {
      const found = await entriesIn(
        lines.join(',\n').replace(`${line},`, line.endsWith('}') ? `${line},` : line),
        'json',
        pieces,
      )
      expect(found.filter((each) => 'broken' in each).map((each) => each.line)).toEqual([3])
      expect(found.flatMap((each) => ('url' in each ? each.url : []))).toEqual(
        [1, 2, 4, 5].map((n) => `https://${n}.example/`),
      )
    }
  })

  const one = '"https://1.example/",'
  const two = '"https://2.example/"'
  it.each([
    ['null', `[${one} null, ${two}]`, ['', '2']],
    ['null on its line', `[${one}\nnull,\n${two}]`, ['', '2']],
    ['numbers and flags', `[${one} -1.5e3, true,\nfalse, ${two}]`, ['', '', '', '2']],
    ['null at the end', `[${one}${two},\n null\n]`, ['2', '']],
    ['a missing quotation mark', `[${one}\n"https://no.example/,\n${two}]`, ['broken', '2']],
    ['no first quotation mark', `[${one}\nhttps://no.example/",\n${two}]`, ['broken', '2']],
    ['a word', `[${one}\nnil,\n${two}]`, ['broken', '2']],
    ['numbers in another list', `{"urls": [${one}${two}], "ids": [1, null]}`, ['2']],
    ['nothing but a comma', `[${one.slice(0, -1)}\n${two}, ${one}]`, ['2', '1']],
  ])('in a list of URLs costs one of them: %s', async (_, list, behind) => {
    const shown = (found: Found) => ('broken' in found ? 'broken' : found.url.replace(/\D/g, ''))
    for (const pieces of [65_536, 1, 7])
      expect((await entriesIn(list, 'json', pieces)).map(shown)).toEqual(['1', ...behind])
  })

  it.each(broken.filter((line) => !line.startsWith('href')))('costs one line of JSON lines: %s', async (line) => {
    const found = await entriesIn([entry(1), line, entry(3)].join('\n'), 'jsonl')
    expect(found.filter((each) => 'broken' in each || !each.url.startsWith('https://'))).toHaveLength(1)
    expect(found).toHaveLength(3)
  })

  it('that was cut off is named, with all before it', async () => {
    const found = await entriesIn(`[${entry(1)},\n${entry(2)},\n{"href":"https:`)
    expect(found.map(row)).toMatchObject([{ url: 'https://1.example/' }, { url: 'https://2.example/' }, { broken: 3 }])
    const whole = await entriesIn(`[${entry(1)},\n${entry(2)}\n`)
    expect(whole.map(row)).toMatchObject([{ url: 'https://1.example/' }, { url: 'https://2.example/' }, { broken: 3 }])
  })
})

describe('a document of JSON', () => {
  it.each(['{"bookmarks":[', '['])('of which one entry lacks its end loses that one: %s', async (begin) => {
    const rest = ['b', 'c', 'd'].map((name) => ` {"url":"https://${name}/","data":[]}`).join(',\n')
    const found = await entriesIn(`${begin}\n {"url":"https://a/",\n${rest}\n]${begin === '[' ? '' : '}'}`, 'json')
    expect(found.filter((each) => 'broken' in each)).toHaveLength(1)
    expect(found.flatMap((each) => ('url' in each ? each.url : []))).toEqual(['https://b/', 'https://c/', 'https://d/'])
  })

  it('that holds the entries is none itself, nor broken', async () => {
    for (const head of ['"link":"https://blog/",', '"user": None,'])
      expect((await entriesIn(`{${head}"items":[{"url":"https://a/"}]}`, 'json')).map(row)).toEqual([
        { url: 'https://a/' },
      ])
  })
})

describe('CSV', () => {
  it('without names may have lines that are no rows', async () => {
    const rows = Array.from({ length: 11 }, (_, n) => `https://${n}.example/\tSome title`)
    const list = [...rows, 'see https://z.example/ too', '# comment', 'y.example https://x.example/'].join('\n')
    expect((await urls(list)).slice(-4)).toEqual([
      'https://10.example/',
      ...['z', 'y', 'x'].map((name) => expect.stringMatching(`^https://${name}\\.example/?$`)),
    ])
    const first = 'a.example,First title\nhttps://b.example/,Second title here\n'
    expect((await entriesIn(first)).map(row)).toEqual([
      { url: 'https://a.example', title: 'First title' },
      { url: 'https://b.example/', title: 'Second title here' },
    ])
  })

  it('has the URLs of pages in the column that is of pages', async () => {
    expect(await urls('image_url,page_url\nhttps://i.example/,https://p.example/\n')).toEqual(['https://p.example/'])
  })

  it('may have lines in a field, other separators, and no names', async () => {
    const semicolons = 'Title;URL\n"two\nlines; one field";https://a.example/\nlast;https://b.example/\n'
    expect(await entriesIn(semicolons)).toMatchObject([
      { url: 'https://a.example/', title: 'two\nlines; one field' },
      { url: 'https://b.example/', line: 4 },
    ])
    expect(await urls('title\turl\nx\thttps://c.example/\n')).toEqual(['https://c.example/'])
    expect((await entriesIn('https://d.example/,"A, B"\n')).map(row)).toEqual([
      { url: 'https://d.example/', title: 'A, B' },
    ])
  })

  it.each([
    ['without names', 'https://a.example/x,Example\nhttps://b.example/x,"Other, title"\nhttps://c.example/,A "b"\n'],
    ['without an end of line', 'https://a.example/x;Example\nhttps://b.example/x;Other title'],
    ['of one title that is a name', 'https://a.example/x,Link\nhttps://b.example/x,Two words\n'],
    ['with its own name for URLs', 'Page title,Page URL\nA,https://a.example/x\nB,b.example/x\n'],
    ['of websites', 'Website,Name\na.example/x,A\nhttps://b.example/x,\n'],
  ])('%s is found out', async (_, list) => {
    const found = (await urls(list)).map((url) => String(url).replace('https://', ''))
    expect(found.slice(0, 2)).toEqual(['a.example/x', 'b.example/x'])
  })

  it.each([
    [
      'commas in URLs',
      'https://a.example/@1,2\nhttps://b.example/@3,4\n',
      ['https://a.example/@1,2', 'https://b.example/@3,4'],
    ],
    ['commas between URLs', 'https://a.example/, https://b.example/\n', ['https://a.example/', 'https://b.example/']],
    [
      'a sentence that ends in url',
      'Look, this is a url\nhttps://a.example/x, or so\n',
      ['Look, this is a url', 'https://a.example/x'],
    ],
  ])('is not what a text looks like with %s', async (_, list, expected) => {
    expect(await urls(list)).toEqual(expected)
  })

  it.each([
    ['to the end', '"never', 'y'],
    ['before another one', '"never', '"y"'],
    ['before one with lines in it', '"never', '"y\n, z"'],
  ])('with a quote that is not closed, %s, is named, and loses no row', async (_, title, next) => {
    const rows = [`https://b.example/,${title}`, `https://c.example/,${next}`, 'd.example,']
    const list = `url,title\nhttps://a.example/,x\n${rows.join('\n')}\n`
    for (const pieces of [65_536, 7]) {
      const found = await entriesIn(list, 'csv', pieces)
      expect(found.filter((each) => 'broken' in each)[0]).toMatchObject({ line: 3 })
      expect(found.filter((each) => 'url' in each && each.url !== '').map(row)).toEqual([
        { url: 'https://a.example/', title: 'x' },
        { url: 'https://b.example/', title: 'never' },
        expect.objectContaining({ url: 'https://c.example/' }),
        { url: 'https://d.example' },
      ])
    }
  })

  it('with many that are not closed loses no row either', async () => {
    const rows = Array.from({ length: 101 }, (_, n) => `https://${n}.example/,"never`)
    const found = await entriesIn(`url,title\n${rows.join('\n')}`, 'csv')
    expect(found.flatMap((each) => ('url' in each ? each.url : []))).toEqual(rows.map((each) => each.split(',')[0]))
    expect(found.flatMap((each) => ('url' in each ? each.line : []))).toEqual(rows.map((_, at) => at + 2))
  })

  it('may have a quote at the beginning of a field with lines', async () => {
    const list = 'url,title\nhttps://a.example/,"""so""\nhe said"\n'
    expect((await entriesIn(list, 'csv')).map(row)).toEqual([{ url: 'https://a.example/', title: '"so"\nhe said' }])
  })
})
