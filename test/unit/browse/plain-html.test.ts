import { parse, serialize } from 'parse5'
import { expect, it } from 'vitest'
import { clean, type Within } from '../../../src/browse/inert/clean.ts'
import { plainHtml } from '../../../src/browse/inert/plain.ts'
import { settled } from '../../../src/browse/inert/settled.ts'
import { elementIn } from '../../../src/browse/inert/tree.ts'
import { Random } from '../../soak/random.ts'
import { NIGHTLY, SEED } from '../../support/seed.ts'

const within = (): Within => ({
  isShown: (address) => address.startsWith('own:'),
  isDocument: () => false,
  inertCss: new Set(),
})
const plain = (html: string) => plainHtml(html, within(), () => {})
const bodyOf = (html: string) => {
  const document = parse(`<!doctype html><body>${html}`)
  return { document, body: () => serialize(elementIn(elementIn(document, 'html')!, 'body')!) }
}

it.each([
  '<p>a &amp; b &lt; c</p><hr><img src="own:1" alt="&quot;x&quot;"><ul><li>1</li><li>2</li></ul>',
  '<p onclick="alert(1)" style="color: red; background: url(http://x)" class="a b">a</p>',
  '<a href="http://x.example/?a=1&b=2&amp;c=3">a</a><a href="javascript:alert(1)">b</a><img src="http://x/i">',
  '<table><tbody><tr><td colspan="2">a</td></tr></tbody></table><input type="checkbox" checked="" formaction="x">',
  '<DIV ID="a" data-x="1" aria-label="b">a</DIV>',
])('what is plain is what is made of its tree: %s', (html) => {
  expect(bodyOf(plain(html)!).body()).toBe(settled(bodyOf(html).document, within()).body.slice(6, -7))
})

it.each([
  '<svg></svg>',
  '<math></math>',
  '<style>a</style>',
  '<x-own>a</x-own>',
  '<title>a</title>',
  '<textarea>a</textarea>',
  '<iframe></iframe>',
  '<noscript>a</noscript>',
  '<xmp>a</xmp>',
  '<plaintext>a',
  '<!-- a -->',
  '<p>a',
  '</p>',
  '<p></b></p>',
  '<p a=b>a</p>',
  `<p a='b'>a</p>`,
  '<p/>',
  '<p\n>a</p>',
  '<p>a&copy;</p>',
  '<a href="java&#115;cript:x">a</a>',
  '<a href="&lt">a</a>',
  'a<',
  'a>b',
  'a\0',
  'a\rb',
  '<img src="data:," data-src="a" data-src="http://x/">',
  `<p${' a'.repeat(101)}>a</p>`,
])('what may be more is left to a reader: %j', (html) => {
  expect(plain(html)).toBeUndefined()
})

it('what is endless is left to a reader, too', () => {
  expect(plain(`<p${' a'.repeat(4_000_000)}`)).toBeUndefined()
})

const PARTS = [
  ...[
    '<p>',
    '</p>',
    '<b>',
    '</b>',
    '<table>',
    '</table>',
    '<td>',
    '</td>',
    '<select>',
    '</select>',
    '<option>',
    '<hr>',
  ],
  ...['<a href="http://x/?a=1&b=2">', '</a>', '<a href="javascript:RUN">', '<a href="JaVa&#9;script:RUN">', '<form>'],
  ...['<img src="http://x/i" onerror="RUN">', '<img src="own:1" srcset="http://x 2x">', '<p title="</p><img src=x>">'],
  ...['<p style="background: u\\72l(http://x)">', '<p style="x: &quot;</style>&quot;">', '<font>', '<nobr>', '<h1>'],
  ...[
    '<svg>',
    '</svg>',
    '<math>',
    '<style>',
    '</style>',
    '<title>',
    '<!--',
    '-->',
    '<textarea>',
    '</textarea>',
    '<xmp>',
  ],
  ...[
    'a',
    ' ',
    '&amp;',
    '&lt;img src=x onerror=RUN&gt;',
    '&',
    '<',
    '>',
    '"',
    "'",
    '\n',
    '&nbsp;',
    '=',
    '/',
    '<li>',
    '</li>',
  ],
  ...['<p x="', '">', '<p x', ' onclick="RUN"', ' style="a: url(//x)"', '<br>', '<input value="&amp;lt;">', '<button>'],
]

it(`a reader of what comes out finds nothing more to take away (SEED=${SEED})`, () => {
  const random = new Random(SEED)
  const some = () => PARTS[Math.floor(random.next() * PARTS.length)]!
  let many = 0
  for (let round = 0; round < (NIGHTLY ? 1_000_000 : 20_000); round += 1) {
    const parts = Array.from({ length: 1 + Math.floor(random.next() * 6) }, some)
    // Closed as a tree would be, for otherwise nearly none is plain.
    const open = parts.flatMap((part) => /^<([a-z]+)(?![a-z])[^/]*>$/.exec(part)?.[1] ?? [])
    const html = `${parts.join('')}${open
      .reverse()
      .map((name) => (/^(?:img|br|hr|input)$/.test(name) ? '' : `</${name}>`))
      .join('')}`
    const made = plain(html)
    if (made === undefined) continue
    many += 1
    const { document, body } = bodyOf(made)
    const read = body()
    clean(document, within())
    expect(body(), html).toBe(read)
    expect(read, html).not.toMatch(/<[^>]*(?:\son\w+=|javascript:)/i)
  }
  expect(many).toBeGreaterThan(1_000)
})
