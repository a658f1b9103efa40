import { expect, it } from 'vitest'
import { frameDocument, framesOf } from '../../../src/server/content/frames.ts'
import { TamedHtml } from '../../../src/server/content/tamed-html.ts'

function tamedHtml(text: string, frames: string | undefined): string {
  const tamed = new TamedHtml(frames)
  return [...tamed.push(text), ...tamed.end()].join('')
}

async function* inParts(text: string, length: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += length) yield text.slice(at, at + length)
}

const coded = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
const first = { query: undefined, frames: [] }

/** What a browser would ask for to show the first frame of a document that was sent. */
const placesIn = (sent: string) => /in-a-frame=([\d.]+)/.exec(sent)?.[1]?.split('.').map(Number)

it('the document of a frame is found at the place that its page was sent with, in whatever parts', async () => {
  const data = `data:text/html;charset=utf-8;base64,${Buffer.from('<p>ä & é</p>').toString('base64')}`
  for (const [tag, document] of [
    ['<iframe srcdoc="&lt;p&gt;one&amp;amp;two">', '<!doctype html><p>one&amp;two'],
    ["<IFRAME src=a SRCDOC='<p>x'>", '<!doctype html><p>x'],
    [`<frame src="${data}">`, '<p>ä & é</p>'],
  ] as const) {
    const page = `${'é'.repeat(1_000)}${tag} and more ${'x'.repeat(5_000)}`
    const places = placesIn(tamedHtml(page, framesOf(first)))!
    expect(places).toEqual([1_000])
    for (const length of [1, 7, 999, 1_000, 1_001, 100_000])
      expect(await frameDocument(inParts(page, length), places)).toBe(document)
  }
})

it('frames in frames go four deep, each asked for by itself', async () => {
  let text = '<p>the innermost<link rel=icon>'
  for (let depth = 0; depth < 6; depth += 1) text = `<p>${depth}<iframe srcdoc="${coded(text)}">`
  let frames: number[] = []
  const shown = []
  for (let document: string | undefined = text; document !== undefined; ) {
    const sent = tamedHtml(document, framesOf({ query: undefined, frames }))
    shown.push(/<p>[\w ]+/.exec(sent)![0])
    const next = placesIn(sent)
    if (next) frames = next
    document = next && (await frameDocument(inParts(text, 50), next))
  }
  expect(shown).toEqual(['<p>5', '<p>4', '<p>3', '<p>2', '<p>1'])
  expect(framesOf({ query: undefined, frames })).toBeUndefined()
})

it('no frame is where none is', async () => {
  const page = '<p><iframe srcdoc="x"></iframe><iframe src="a.html"></iframe><iframe srcdoc="'
  for (const places of [[0], [2], [4], [30], [31], [53], [999_999_999], [3, 0], [3, 15, 0]])
    expect(await frameDocument(inParts(page, 10), places), String(places)).toBeUndefined()
  expect(await frameDocument(inParts(page, 10), [3])).toBe('<!doctype html>x')
})

it('what a browser asked a page for, its frames ask for, too, with nothing that could end a tag', () => {
  expect(framesOf({ query: `a=1&b="'<>\`é ;&copy`, frames: [7, 8] })).toBe(
    '?a=1&amp;b=%22%27%3c%3e%60%c3%a9%20;&amp;copy&amp;in-a-frame=7.8.',
  )
})
