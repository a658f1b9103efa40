import { describe, expect, it } from 'vitest'
import { pageTitle } from '../../../src/browse/html/page-title.ts'
import { dataUrlBytes } from '../../../src/plugins/favicon/data-url.ts'
import { iconUrl } from '../../../src/plugins/favicon/icon-url.ts'
import { isImage, isSvg } from '../../../src/plugins/favicon/image-type.ts'
import { findLinks } from '../../../src/plugins/parse_html_urls/find-links.ts'
import { articleDocument } from '../../../src/plugins/readability/article-document.ts'
import { extractArticle } from '../../../src/plugins/readability/extract-article.ts'
import { openShadowRoots } from '../../../src/plugins/readability/shadow-roots.ts'
import { surveyPage } from '../../../src/plugins/readability/survey.ts'
import { asset } from '../../support/site.ts'

const URL_ = 'http://site.test/dir/page.html'
const links = (html: string, max = 100) => findLinks(html, URL_, [], max)

describe('the title of a page', () => {
  it.each([
    ['<title>Plain</title>', 'Plain'],
    ['<TITLE lang=en>\n  Two\t lines\u00a0&amp; &lt;b&gt; &eacute; </TITLE>', 'Two lines & <b> é'],
    ['<title></title><title>Second</title>', 'Second'],
    ['<meta property="og:title" content="Open &quot;graph&quot;"><h1>Heading</h1>', 'Open "graph"'],
    ['<title> </title><h1>Big <b>bold</b> words</h1>', 'Big bold words'],
    ['<svg><title>Drawing</title></svg><h1>Heading</h1>', 'Heading'],
    ['<!-- <title>Comment</title> --><script>"<title>Script</title>"</script><h1>Real</h1>', 'Real'],
    ['<title>Never closed', 'Never closed'],
    ['<title>N\0U\u0007L</title>', 'N U L'],
    ['no tags at all', ''],
    ['', ''],
  ])('of %j is %j', (html, title) => {
    expect(pageTitle(html)).toBe(title)
  })

  it('is one line of well-formed text and at most 1000 characters, however long it was', () => {
    const title = pageTitle(`<title>${'😀 x\n'.repeat(100_000)}</title>`)
    expect(title.length).toBe(1000)
    expect(title.isWellFormed()).toBe(true)
    expect(title).not.toContain('\n')
  })
})

describe('the links of a page', () => {
  it('are absolute, without fragments, each once, without the page itself, in page order', () => {
    const html = `<a href="b.html#x">b</a><a href='/c?d=1&amp;e=2'>c</a><a href=b.html>again</a>
      <area href="//other.test/"><a href="#top">top</a><a href="page.html#self">self</a>
      <a href="HTTP://SITE.test:80/dir/page.html">self</a><a>none</a><a href=" d.html ">d</a>`
    expect(links(html)).toEqual([
      'http://site.test/dir/b.html',
      'http://site.test/c?d=1&e=2',
      'http://other.test/',
      'http://site.test/dir/d.html',
    ])
  })

  it('start from the first base', () => {
    expect(links('<base href="/other/"><base href="/third/"><a href="x">x</a>')).toEqual(['http://site.test/other/x'])
    expect(links('<base href="javascript:1"><base href="http://[bad"><a href="http://a.test/">x</a>')).toEqual([
      'http://a.test/',
    ])
  })

  it('are http and https only, and never longer than 2048 characters', () => {
    const html = [
      'javascript:alert(1)',
      ' java\nscript:x',
      'mailto:a@b.c',
      'data:text/html,x',
      'ftp://x.test/',
      'http://',
      'http://[::bad',
      'http://a b/',
      '\0',
    ]
      .map((href) => `<a href="${href}">x</a>`)
      .join('')
    expect(links(html)).toEqual([])
    expect(links(`<a href="/${'x'.repeat(3000)}">long</a>`)).toEqual([])
    expect(links(`<a href="/${'ä'.repeat(1000)}">long when it is escaped</a>`)).toEqual([])
  })

  it('inside comments, scripts and styles are none', () => {
    expect(
      links(
        '<!-- <a href="/a">x</a> --><script>"<a href=/b>"</script><style><a href="/c"></style><title><a ' +
          'href=/d></title>',
      ),
    ).toEqual([])
  })

  it('stop at the cap', () => {
    const html = Array.from({ length: 50 }, (_, i) => `<a href="/${i}">${i}</a>`).join('')
    expect(links(html, 7)).toHaveLength(7)
    expect(links(html, 50)).toHaveLength(50)
  })

  it('are found in hostile pages, too', () => {
    expect(links(`${'<div>'.repeat(100_000)}<a href="/deep">x</a>`)).toEqual(['http://site.test/deep'])
    expect(links(`<p title="${'x'.repeat(10_000_000)}"><a href="/after">x</a>`)).toEqual(['http://site.test/after'])
    expect(links(`<a ${Array.from({ length: 100_000 }, (_, i) => `a${i}=1`).join(' ')} href="/many">x</a>`)).toEqual([
      'http://site.test/many',
    ])
    expect(links(`<a href="${'&quot;'.repeat(2_000_000)}">x</a><a href="/next">x</a>`)).toEqual([
      'http://site.test/next',
    ])
    expect(links(`${'<a href="'.repeat(50_000)}`)).toEqual([])
    expect(links('<a href="/__proto__" __proto__="x" constructor>x</a>')).toEqual(['http://site.test/__proto__'])
  })
})

describe('the icon of a page', () => {
  it('is the largest sensible one that it names', () => {
    const html = `<link rel="icon" href="16.png" sizes="16x16">
      <link rel="shortcut ICON" href="/64.png" sizes="32x32 64x64">
      <link rel="icon" href="huge.png" sizes="1024x1024"><link rel="apple-touch-icon" href="180.png" sizes="180x180">`
    expect(iconUrl(html, URL_)).toBe('http://site.test/64.png')
    expect(iconUrl(`${html}<link rel=icon href=any.svg sizes=any>`, URL_)).toBe('http://site.test/dir/any.svg')
  })

  it('is the first of equals, and starts from the base', () => {
    expect(iconUrl('<base href="/b/"><link rel=icon href=1.png><link rel=icon href=2.png>', URL_)).toBe(
      'http://site.test/b/1.png',
    )
  })

  it('is /favicon.ico of the host when it names none that can be had', () => {
    expect(iconUrl('', URL_)).toBe('http://site.test/favicon.ico')
    expect(iconUrl('<link rel=icon href="javascript:1"><link rel=icon href="http://[x"><link rel=icon>', URL_)).toBe(
      'http://site.test/favicon.ico',
    )
    expect(iconUrl('<body><link rel=icon href="/later.png">', URL_)).toBe('http://site.test/favicon.ico')
  })

  it('may be in a data: URL', () => {
    expect(dataUrlBytes('data:image/png;base64,iVBORw0KGgo%3D')).toEqual(Buffer.from('iVBORw0KGgo=', 'base64'))
    expect(dataUrlBytes('data:image/svg+xml,%3Csvg/%3E')).toEqual(Buffer.from('<svg/>'))
    expect(dataUrlBytes('data:image/png;base64')).toBe('not a valid data: URL')
    expect(dataUrlBytes('data:,%E0%A4%A')).toBe('not a valid data: URL')
  })

  it('is a picture by its bytes, not by what a server says', () => {
    expect(['dusk.png', 'favicon.ico', 'map.svg'].map((name) => isImage(asset(name)))).toEqual([true, true, true])
    expect(
      isSvg(Buffer.from('\uFEFF<?xml version="1.0"?>\n<!-- c --><!DOCTYPE svg PUBLIC "x">\n<svg xmlns="x">')),
    ).toBe(true)
    expect(['<!doctype html><svg>', '<html>', 'Not found', ''].map((text) => isImage(Buffer.from(text)))).toEqual([
      false,
      false,
      false,
      false,
    ])
  })
})

const articleIn = (html: string) => extractArticle(html, URL_, surveyPage(html))
const tooComplexIn = (html: string) => surveyPage(html).tooComplex

describe('the article of a page', () => {
  const words = 'Some words, here and there, that make a paragraph of its own.'
  const body = `<h1>Head</h1>${`<p>${words} <a href="x.html">link</a></p>`.repeat(20)}`

  it.each([
    ['a whole document', `<!doctype html><html><head><title>T</title></head><body>${body}</body></html>`],
    ['a fragment', body],
    ['no body tag', `<html><head><title>T</title></head>${body}</html>`],
    ['no html tag', `<head><title>T</title></head><body>${body}</body>`],
    ['text before the tags', `hello ${body}`],
    ['a comment first', `<!-- hi --><!doctype html><html><body>${body}`],
  ])('is found in %s', (_name, html) => {
    const article = articleIn(html)
    expect(article?.textContent).toContain('make a paragraph')
    expect(article?.content).toContain('href="http://site.test/dir/x.html"')
  })

  it.each([
    ['HTTP/2 | Node.js v20 Documentation', 'HTTP/2 | Node.js v20 Documentation'],
    ['How a lighthouse is lit at night | The Island Post', 'How a lighthouse is lit at night'],
  ])('keeps the beginning of its title: %s', (own, title) => {
    expect(articleIn(`<html><head><title>${own}</title></head><body>${body}</body></html>`)?.title).toBe(title)
  })

  it('is by nobody whose name has no letter', () => {
    const by = (name: string) => `<html><body><p class="byline">${name}</p>${body}</body></html>`
    expect(articleIn(by('#'))?.byline).toBe(null)
    expect(articleIn(by('Ann Other'))?.byline).toBe('Ann Other')
  })

  it('has nothing in it that runs', () => {
    const article = articleIn(
      `<body>${body}<p onclick="alert(1)">click, and read on, ` +
        'and on <img src="i.png" onerror="alert(2)"></p><script>alert(3)</script><a ' +
        'href="java&#10;script:alert(4)">x</a>',
    )
    expect(article?.content).toContain('src="http://site.test/dir/i.png"')
    expect(article?.content).not.toMatch(/alert|onclick|onerror|<script/i)
  })

  // What is called a sidebar, Readability leaves out.
  const lines = Array.from(
    { length: 80 },
    (_, n) => `<li><a href="#f${n}">function_${n}</a> does one thing and another</li>`,
  )
  const reference =
    `<h1>All of it</h1>${'<p>A few words on what this is, and on why.</p>'.repeat(18)}<ul ` +
    `class="sidebar">${lines.join('')}</ul>`

  it('is all that a page says where little else would be left of it', () => {
    const article = articleIn(`<body><nav>Home</nav><main>${reference}</main><footer>Imprint</footer></body>`)
    expect(article).toMatchObject({ extent: 'whole', kept: 1 })
    expect(article?.textContent).toContain('function_39')
    expect(article?.textContent).not.toMatch(/Home|Imprint/)
    expect(article?.content).toContain('href="#f39"')
  })

  it('is inert also where all of the page is kept', () => {
    const evil =
      '<p onclick="alert(1)">x</p><iframe srcdoc="<b>"></iframe><a ' +
      'href="javascript:alert(1)">y</a><img src="i.png">'
    const article = articleIn(`<main>${reference}${evil}<form action="z"><input></form></main>`)
    expect(article?.extent).toBe('whole')
    expect(article?.content).not.toMatch(/alert|onclick|iframe|<input/i)
    expect(article?.content).toContain('src="http://site.test/dir/i.png"')
  })

  it('has the text of shadow roots, and not their styles', () => {
    const lines = Array.from(
      { length: 40 },
      (_, i) => `<p>Line ${i} of the text in a shadow root, a long one.</p>`,
    ).join('')
    const html = openShadowRoots(`<body><my-app><template shadowrootmode="open"><style>:host { color: red }</style>
      ${lines}</template></my-app></body>`)
    const text = extractArticle(html, 'http://a.example/', surveyPage(html))?.textContent ?? ''
    expect(text.match(/Line \d+ of/g)).toHaveLength(40)
    expect(/host/.exec(text)).toBeNull()
  })

  it('is not spoilt by the links around it', () => {
    const links = `<div class="sidebar">${'<a href="/x">Some other story that nobody asked for</a> '.repeat(200)}</div>`
    const article = articleIn(`<body>${body}${links}</body>`)
    expect(article?.extent).toBe('readability')
    expect(article?.textContent).not.toContain('nobody asked for')
    expect(article!.kept).toBeLessThan(0.5)
  })

  it('is the part that the page marks as its main one, without what is hidden around it', () => {
    const keys = '<p>Press S or / to search in the book, Esc to stop, ? to show this help, arrows to turn the page</p>'
    const help = `<div><h2>Keyboard shortcuts</h2>${keys.repeat(3)}</div>`
    const text =
      '<p>A sentence of some length, with commas, that tells about lighthouses and their keepers at night.</p>'
    const article = articleIn(`<body>${help}<main>${text.repeat(6)}</main></body>`)
    expect(article?.extent).toBe('readability')
    expect(article?.textContent).not.toContain('Keyboard shortcuts')
    expect(article?.content).not.toContain('data-main')
  })

  it('has blocks on lines of their own in its text', () => {
    expect(articleIn(`<main><h1>One</h1><p>two <b>three</b></p><pre>a\n  b</pre></main>`)?.textContent).toMatch(
      /two three\s*\na\n {2}b/,
    )
  })

  it('is shown with its title, source and date, and with what it lacks', () => {
    const head = { title: '<T>', url: 'http://a/?"', byline: null, siteName: 'S', lang: null, dir: null }
    const page = articleDocument('<p>x</p>', { ...head, publishedTime: '2026-01-02T03:04:05Z', kept: 0.21 })
    for (const text of [
      '<title>&lt;T&gt;</title>',
      'http://a/?&quot;',
      '<bdi>S</bdi>',
      '2026-01-02',
      '21 % of the text',
    ])
      expect(page).toContain(text)
    expect(articleDocument('', { ...head, publishedTime: null, kept: 0.5 })).not.toContain('of the text')
  })

  it('is none in a page without text', () => {
    for (const html of ['', 'hi', '<html></html>', '<frameset><frame src=a></frameset>', '<p>', '\0'])
      expect(articleIn(html)?.length ?? 0).toBeLessThan(3)
  })

  it('is not looked for where a tree would take for ever', () => {
    const deep = 'nested deeper than 256 elements'
    const large = 'more than 100000 elements and pieces of text'
    expect(tooComplexIn(`<p>a<p>b<br><br><li>c<li>d${'<i>x</i>'.repeat(1000)}`)).toBeUndefined()
    expect(tooComplexIn('<div>'.repeat(256))).toBeUndefined()
    expect(tooComplexIn('<div>'.repeat(257))).toBe(deep)
    expect(tooComplexIn('<div>'.repeat(1_000_000))).toBe(deep)
    expect(tooComplexIn('<p>x'.repeat(100_000))).toBe(large)
    expect(tooComplexIn('&amp'.repeat(1_000_000))).toBe(large)
    expect(tooComplexIn('<'.repeat(1_000_000))).toBe(large)
    expect(tooComplexIn('<br>'.repeat(200_000))).toBe(large)
    expect(tooComplexIn('<!---->'.repeat(200_000))).toBe(large)
  })
})
