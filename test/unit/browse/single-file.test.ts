import { describe, expect, it } from 'vitest'
import { singleFile } from '../../../src/browse/browser/single-file.ts'

const URL = 'http://a.example/'
const page = (html: string) => ({ html, base: URL, frames: new Map() })
const file = (path: string, type: string, body: string) =>
  [URL + path, { url: URL + path, type, body: Buffer.from(body) }] as const
const made = (html: string, ...files: ReturnType<typeof file>[]) =>
  [...singleFile({ page: page(html), files: new Map(files), leftOut: 0 }, URL)].join('')
const dataUrl = (type: string, body: string) => `data:${type};base64,${Buffer.from(body).toString('base64')}`

it('a style sheet becomes part of the file as it is, and cannot end the element that it is in', () => {
  const css = 'main > * { grid-column: text } q::before { content: "</style><b>" }'
  const html = made(`<head><link rel="stylesheet" href="${URL}s.css"></head>`, file('s.css', 'text/css', css))
  expect(html).toContain('main > * { grid-column: text }')
  expect(html).not.toContain('</style><b>')
})

it('what style sheets name is found from where they lie, in each other, too', () => {
  const html = made(
    `<head><link rel="stylesheet" href="${URL}css/s.css"></head>`,
    file('css/s.css', 'text/css', '@namespace svg url(x); @import "b.css"; p { background: url(../p.png) }'),
    file('css/b.css', 'text/css', '@import "s.css"; i { mask: image-set("../p.png" 1x) } u { cursor: url(gone.cur) }'),
    file('p.png', 'image/png', 'P'),
  )
  const png = dataUrl('image/png', 'P')
  const inner = /@import "data:text\/css;charset=utf-8;base64,([^"]*)"/.exec(html)?.[1] ?? ''
  expect(html).toContain(`@namespace svg url("x")`)
  expect(html).toContain(`p { background: url("${png}") }`)
  expect(Buffer.from(inner, 'base64').toString()).toContain(
    `i { mask: image-set(url("${png}") 1x) } u { cursor: url("data:,") }`,
  )
})

it('nothing runs, is requested or leads on by itself', () => {
  const html = made(
    `<meta http-equiv="refresh" content="0;http://b.example/"><base href="http://b.example/"><script>x</script>
     <a href=" java&#9;script:x" onclick="x">a</a><img src="http://b.example/p.png" alt="a" srcset="${URL}p.png 2x">
     <link rel="preload" href="http://b.example/">`,
    file('p.png', 'image/png', 'P'),
  )
  expect(html).not.toMatch(/b\.example|script:|onclick|<script|refresh/)
  expect(html).toContain(`srcset="${dataUrl('image/png', 'P')} 2x"`)
})

it('a part of a drawing of its own is shown from the page', () => {
  const html = made(
    `<svg><use href="${URL}s.svg#a"></use></svg><svg><use href="${URL}s.svg#b"></use></svg>`,
    file('s.svg', 'image/svg+xml', '<svg><symbol id="a"/><symbol id="b" onload="x"/></svg>'),
  )
  expect(html).toContain('<use href="#a"></use>')
  expect(html.match(/<symbol id="b"/g)).toHaveLength(1)
})

it('begins with a head of its own, whatever stood before the one of the page', () => {
  const html = made('<html lang="en"><p>first</p><head><title>t</title></head><body><b>x')
  const [start = '', directives = ''] = /^.*?http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(html) ?? []
  expect(start).toMatch(
    /^<!doctype html[^>]*><!-- Saved from \S+ --><html lang="en"><head><meta charset="utf-8"><meta /,
  )
  expect(start.match(/<meta/g)).toHaveLength(2)
  for (const part of ["default-src 'none'", "form-action 'none'", "base-uri 'none'"]) expect(directives).toContain(part)
  expect(directives).not.toContain("'self'")
  expect(html).toMatch(/<\/head><body><p>first<\/p>/)
})

it('takes no markup from the type of a file, an address in the page or a document in a frame', () => {
  const inner = { ...page('<b title="&amp;">"in"</b><script>x</script>'), base: `${URL}f` }
  const html = [
    ...singleFile(
      {
        page: {
          ...page(
            `<img src="${URL}p"><img src='data:image/svg+xml,<svg title="&amp;">'><iframe data-frame-of-page="0">`,
          ),
          frames: new Map([['0', inner]]),
        },
        files: new Map([file('p', 'image/png"><script>x</script>', 'P')]),
        leftOut: 0,
      },
      URL,
    ),
  ].join('')
  expect(html).toContain('<img src="data:application/octet-stream;base64,UA==">')
  expect(html).toContain('<img src="data:image/svg+xml,%3Csvg%20title=%22%26%22%3E">')
  expect(html).toContain('&#60;b title=&#34;&#38;amp;&#34;&#62;&#34;in&#34;&#60;/b&#62;')
  expect(html).not.toContain('<script')
})

it('takes a style sheet from a data URL, with what it names', () => {
  const css = `@import 'b.css'; p { background: url(http://b.example/x) } q { background: url(data:image/gif;base64,R0lG) }`
  const html = made(`<link rel="stylesheet" href="data:text/css,${encodeURIComponent(css)}">`)
  expect(html).toContain('p { background: url("data:,") } q { background: url("data:image/gif;base64,R0lG") }')
  expect(html).not.toContain('b.example')
})

describe('a page of which a parser would make far more than stands in it', () => {
  const fonts = Array.from({ length: 400 }, (_, number) => `<font id="${number}">`).join('')
  const hostile = {
    'styles that nobody closes': `<p>${fonts}<p>${'<div>x</div>'.repeat(4_000)}`,
    depth: '<i>'.repeat(3_000),
  }

  it.each(Object.entries(hostile))('has no single file: %s', (_, html) => {
    expect(() => made(html)).toThrow(/^its (?:\d+ characters would make more than|elements are nested deeper than) \d+/)
  })

  it.each(Object.entries(hostile))('leaves what is around it: %s', (_, html) => {
    const outer = {
      ...page('<p>around</p><iframe data-frame-of-page="0"></iframe>'),
      frames: new Map([['0', page(html)]]),
    }
    const drawing = `<svg><use href="${URL}s.svg#a"></use></svg>`
    const files = new Map([file('s.svg', 'image/svg+xml', `<svg><symbol id="a"/>${html}</svg>`)])
    const written = [...singleFile({ page: { ...outer, html: outer.html + drawing }, files, leftOut: 0 }, URL)].join('')
    expect(written).toContain('<p>around</p><iframe></iframe><svg>')
  })
})

it('a document is shown once, by what shows documents, whatever number a page writes elsewhere', () => {
  const outer = page(
    `<p data-frame-of-page="0">p</p><iframe data-frame-of-page="0"></iframe><object data-frame-of-page="0"></object>
     <x-y data-frame-of-page="0"></x-y><iframe data-frame-of-page="1"></iframe>`,
  )
  const frames = new Map([
    ['0', page('inner')],
    ['1', page('other')],
  ])
  const written = [...singleFile({ page: { ...outer, frames }, files: new Map(), leftOut: 0 }, URL)].join('')
  expect(written.match(/srcdoc=/g)).toHaveLength(2)
  expect(written.match(/inner/g)).toHaveLength(1)
})
