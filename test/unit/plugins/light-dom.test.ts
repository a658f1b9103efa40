import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { expect, test } from 'vitest'
import { parsed } from '../../../src/plugins/readability/light-dom.ts'
import { NODE, ROOT } from '../../support/program.ts'

const PAGE = `<!doctype html><html lang=en><head><title>A &amp; B</title><style>p > a { color: red }</style>
<script>if (1 < 2) document.write("<p>")</script><base href="/x/"></head>
<body class="  wide  wide dark " style="color: red; display : none">
<p class="one">Text <b class>bold</b><br><img src="a.png" class="a\tb" alt='"quoted"' hidden></p>
<template><i class="in">t</i></template><textarea rows=2><b></textarea><noscript><img src=b.png></noscript>
<img src="data:image/gif;base64,R0" srcset="c.jpg 2x">
<svg viewBox="0 0 1 1"><title>T</title>
<linearGradient p="1"/><path d="M0 0"/></svg><!-- note --><my-part is="x">p</my-part>
<a href="c.html" style="visibility: hidden">link</a><table><tr><td rowspan=2>1</td></tr></table></body></html>`

interface Element {
  className: string
  innerHTML: string
  readonly src?: string
  readonly srcset?: string
  readonly tagName: string
  readonly outerHTML: string
  readonly textContent: string
  readonly style: { display?: string; visibility?: string }
  readonly classList: { add(name: string): void; readonly value: string }
  setAttribute(name: string, value: string): void
  removeAttribute(name: string): void
  querySelectorAll(selector: string): Iterable<Element>
  getElementsByTagName(name: string): readonly Element[]
}
interface Document extends Element {
  createElement(name: string): Element
  toString(): string
}

/** All that readers of a tree see, before and after it is changed as they change it. */
function look(document: Document): unknown {
  const all = () => [...document.querySelectorAll('*')]
  const seen = () =>
    all().map(({ tagName, className, textContent, outerHTML, style }) => [
      ...[tagName, className, textContent, outerHTML],
      ...[style.display, style.visibility],
    ])
  const pictures = [...document.querySelectorAll('img')].map(({ src, srcset }) => [src, srcset])
  const named = ['p', 'td,a,i,h2', 'lineargradient,title,img', 'template,b', 'P', 'tr, td', '*', 'is,p,tr'].map(
    (names) => [
      [...document.querySelectorAll(names)].map(({ outerHTML }) => outerHTML),
      [...document.getElementsByTagName(names)].map(({ outerHTML }) => outerHTML),
      all().map((element) => [element.getElementsByTagName(names).length, [...element.querySelectorAll(names)].length]),
    ],
  )
  const found = ['.wide', '[class~=b]', '.one, .in', 'b[class]', '[hidden]', 'a[style]'].map(
    (selector) => [...document.querySelectorAll(selector)].length,
  )
  const before = [document.toString(), seen(), found, named, pictures]
  for (const [index, element] of all().entries()) {
    if (index % 4 === 0) element.className = ' new  new old'
    if (index % 4 === 1) element.classList.add('more')
    if (index % 4 === 2) element.setAttribute('class', 'x  y')
    if (index % 4 === 3) element.removeAttribute('class')
    if (index % 5 === 0) element.setAttribute('style', 'display: block')
  }
  for (const element of document.querySelectorAll('p')) element.innerHTML += '<h2 class="a a">more</h2>'
  const made = ['DIV', 'a', 'script'].map((name) => document.createElement(name).outerHTML)
  return [before, document.toString(), seen(), made]
}

test('a light tree reads and writes as the tree of linkedom', () => {
  const own = look(parseHTML(PAGE).document as unknown as Document)
  expect(look(parsed(PAGE).document as Document)).toEqual(own)
})

test('only the known version is made light, which is the one that is installed', () => {
  // In a process of its own: other tests here may have made it light.
  const script = `import { parsed } from '${join(ROOT, 'src/plugins/readability/light-dom.ts')}'
    const create = (version) => parsed('<p>', version).document.createElement
    console.log(create('0.19.0') === create('0.19.0'), create('0.19.0') === create())`
  const said = execFileSync(NODE, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect(said).toBe('true false\n')
})
