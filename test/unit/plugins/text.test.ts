import { expect, it } from 'vitest'
import { textOf } from '../../../src/plugins/htmltotext/text-of.ts'
import { aboutItself } from '../../../src/plugins/seo/about-itself.ts'

it('the text of a page has its lines and paragraphs, and nothing that is not shown', () => {
  const html = `<html><head><title>T</title><style>p {}</style></head><body><h1>A  head
    line</h1><p>One &amp; <b>two</b>.<br>Three</p><script>"<p>no</p>"</script><noscript><p>no</p></noscript>
    <ul><li>a <li>b</ul><table><tr><td>x</td><td>y</td></tr><tr><td>z</table><pre>
  kept
    so</pre><open-root><template shadowrootmode="open"><p>in a shadow root</p></template></open-root></body></html>`
  expect(textOf(html)).toBe('A head line\n\nOne & two.\nThree\n\na\nb\n\nx\ty\nz\n\n  kept\n    so\n\nin a shadow root')
  expect(textOf('<script>let a</script>')).toBe('')
})

it('what a page says about itself, by the names that it uses', () => {
  const html = `<html lang="de"><head><title>A  title</title><meta charset="utf-8"><meta name="Description" content="d">
    <meta property="og:image" content="1.png"><meta property="og:image" content="2.png">
    <link rel="canonical" href="/c"><link rel="alternate" hreflang="en" href="/en"><link rel="stylesheet" href="/s">
    <script type="application/ld+json">{"@type": "Article", "name": "a &lt; b"}</script>
    <script type="application/ld+json">{broken</script><script>{"no": 1}</script></head><svg><title>s</title></svg>`
  expect(aboutItself(html)).toEqual({
    lang: 'de',
    title: 'A title',
    description: 'd',
    'og:image': ['1.png', '2.png'],
    canonical: '/c',
    alternates: [{ href: '/en', hreflang: 'en' }],
    json_ld: [{ '@type': 'Article', name: 'a &lt; b' }],
  })
  expect(aboutItself('<p>text</p>')).toEqual({})
})
