import { parse } from 'parse5'
import { describe, expect, it } from 'vitest'
import type { Within } from '../../../src/browse/inert/clean.ts'
import { inertCss } from '../../../src/browse/inert/css.ts'
import { settled } from '../../../src/browse/inert/settled.ts'

const within = (isShown = (address: string) => address.startsWith('own:')): Within => ({
  isShown,
  isDocument: () => false,
  inertCss: new Set(),
})
const inert = (html: string) => settled(parse(html), within())
const bodyOf = (html: string) => inert(html).body.replace(/^<body[^>]*>|<\/body>$/g, '')

describe('CSS', () => {
  const shown = (url: string, isSheet: boolean) => (/^(own|data):/.test(url) ? url : `own:${isSheet ? 'sheet' : ''}`)

  it.each([
    ['an address', 'a{b:url(http://x)}', 'a{b:url("own:")}'],
    ['one in quotes', `a{b:url( 'http://x' )}`, 'a{b:url("own:" )}'],
    ['one with escapes', 'a{b:u\\72l(\\68ttp://x)}', 'a{b:url("own:")}'],
    ['one with an escape in a string', 'a{b:\\55RL("\\68ttp://x")}', 'a{b:url("own:")}'],
    ['what looks like a comment in one', 'u\\72l(/*) url(http://b) */', 'url("own:") url("own:") */'],
    ['an import', '@import "http://x" screen;', '@import "own:sheet" screen;'],
    ['one with an escape and a comment', '@im\\70ort/**/url(x);', '@import/**/url("own:sheet");'],
    ['a namespace, which is only a name', '@namespace a "http://x";', '@namespace a "http://x";'],
    ['what follows a namespace that is none', '@namespace{} a{b:url(x)}', '@namespace{} a{b:url("own:")}'],
    ['a set of pictures', 'image-set("x" 1x, url(y) 2x)', 'image-set(url("own:") 1x, url("own:") 2x)'],
    ['its types', '-webkit-image-set("x" type("image/png"))', '-webkit-image-set(url("own:") type("image/png"))'],
    ['a set of what nobody knows', 'image-set(var(--x) 1x)', 'image-set(none(--x) 1x)'],
    ['an address of what nobody knows', 'src(var(--x)) red', 'url("data:,") red'],
    ['one that is broken', 'a{b:url(x y);c:d}', 'a{b:bad-url;c:d}'],
    ['text that would end its element', 'q{content:"</style><b>"}', 'q{content:"\\3c /style>\\3c b>"}'],
    ['a comment that would', 'a/*</style>*/b', 'a/**/b'],
    ['operators that would', '(a<b) <!-- (1px<=width<b)', '(a< b)   (1px<=width< b)'],
    ['a name that would', '.\\</style', '.\\3c /style'],
  ])('has %s as it may be, and stays so', (_what, css, written) => {
    expect(inertCss(css, shown)).toBe(written)
    expect(inertCss(written, shown)).toBe(written)
  })

  it('keeps what has no address', () => {
    const css = `@media (min-width: 4px) { .a > b::after { --My-X: { a: b }; content: '\u2192 "' } }`
    expect(inertCss(css, shown)).toBe(css)
  })
})

describe('a page', () => {
  it.each([
    [
      'text in a place where it is none',
      '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=x&gt;">',
    ],
    [
      'a shadow root',
      '<p><template shadowrootmode="open"><template shadowrootmode="open"><script>x</script></template></template>',
    ],
    ['text after a raw one', '<xmp><script>x</script></xmp><noembed><script>x</script></noembed><plaintext><script>x'],
    ['names that hold markup', '<x<script>a</x><a b="c" d<script="e">'],
    ['what has no scripts', '<noscript><p title="</noscript><script>x</script>"></noscript>'],
  ])('runs nothing of %s', (_what, html) => {
    const { body } = inert(html)
    expect(body).not.toMatch(/<(?!\/?(?:body|b|p|a|math|mtext|table|style|img|template|pre|span)[\s>])|onerror=x[^&]/)
  })

  it.each(['pre', 'textarea'])('keeps the line breaks with which a %s begins, and what stands around it', (name) => {
    for (let breaks = 0; breaks < 9; breaks += 1) {
      const html = `<p class="x"><b>bold</b></p><${name}>${'\n'.repeat(breaks)}code</${name}>`
      const [, kept = ''] = bodyOf(html).match(/^<p class="x"><b>bold<\/b><\/p><\w+>(\n*)code<\/\w+>$/) ?? []
      // One that is read away is not written for a text that begins with none.
      expect(kept.length, html).toBe(breaks < 2 ? 0 : breaks)
    }
  })

  it('may have very many children', () => {
    expect(bodyOf(`<div>${'<br>'.repeat(150_000)}</div>`)).toHaveLength(600_011)
  })

  it('has the styles, names and text of its own', () => {
    const html = `<x-own a="b" data-c="d" aria-label="e"><app class="f" src="g">h</app></x-own><center>i</center>`
    expect(bodyOf(html)).toBe(`<x-own a="b" data-c="d" aria-label="e"><app class="f">h</app></x-own><center>i</center>`)
  })

  it('leads where links lead, and nowhere else', () => {
    const html = `<a href="http://a/">a</a><a href=" java&#9;script:x">b</a><a href="//c">c</a><a href="#d">d</a>
<a href="file:///e" ping="http://e">e</a><svg><a xlink:href="data:text/html,x"><set attributename="href" to="x"/></a></svg>`
    expect(bodyOf(html)).toBe(`<a href="http://a/">a</a><a href="data:,">b</a><a href="data:,">c</a><a href="#d">d</a>
<a href="data:,">e</a><svg><a xlink:href="data:,"></a></svg>`)
  })

  it('shows what is within', () => {
    const html = `<img src="own:a" srcset="own:b 2x"><img src="http://c" srcset="http://d 2x">
<p style="background: url(own:e), url(f)"></p><svg fill="url(#g)" stroke="url(http://h)"></svg>`
    expect(bodyOf(html).replaceAll('&quot;', "'")).toBe(`<img src="own:a" srcset="own:b 2x"><img src="data:,">
<p style="background: url('own:e'), url('data:,')"></p><svg fill="url('#g')" stroke="url('data:,')"></svg>`)
  })

  it('is drawn in the mode that it was made for', () => {
    expect(['<p>', '<!doctype html><p>'].map((html) => inert(html).doctype)).toEqual([
      '<!doctype html public "-//W3C//DTD HTML 3.2//EN">',
      '<!doctype html>',
    ])
    expect(parse(`${inert('<p>').doctype}<p>`).mode).toBe('quirks')
    const limited = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/a"><p>'
    expect(parse(inert(limited).doctype).mode).toBe('limited-quirks')
  })

  it('is nothing but text where it is another one each time that it is read', () => {
    let round = 0
    const fewer = within((address) => {
      if (address === 'own:99') round += 1
      return Number(address.slice(4)) > round
    })
    const pictures = [99, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => `<img src="own:${number}">`)
    const { head, body } = settled(parse(`<title>t</title><b>x &lt; y</b>${pictures.join('')}<i>z</i>`), fewer)
    expect([head, body]).toEqual(['<title>t</title>', '<body>x &lt; yz</body>'])
  })

  it('leaves its words when it is deeper than a parser can read it again in time', () => {
    expect(bodyOf('<i>'.repeat(900))).toContain('<i><i>')
    expect(bodyOf(`${'<i>'.repeat(20_000)}words & <b>more`)).toBe('words &amp; more')
  })
})
