import { describe, expect, it } from 'vitest'
import { TamedHtml } from '../../../src/server/content/tamed-html.ts'

/** How addresses of frames begin. */
const FRAMES = '?in-a-frame='

/** In parts of so many characters. */
function inParts(text: string, length: number): string {
  const tamed = new TamedHtml(FRAMES)
  let written = ''
  for (let at = 0; at < text.length; at += length) written += [...tamed.push(text.slice(at, at + length))].join('')
  return written + [...tamed.end()].join('')
}

const tamedHtml = (text: string, frames?: string) => pieces(text, frames).join('')

function pieces(text: string, frames?: string): string[] {
  const tamed = new TamedHtml(frames)
  return [...tamed.push(text), ...tamed.end()]
}

const CASES: Readonly<Record<string, string>> = {
  // What loads and leads nowhere else is left alone.
  '<p title="a < b">text rel=x target=y</p>': '<p title="a < b">text rel=x target=y</p>',
  '<link rel="stylesheet" href="a.css">': '<link rel="stylesheet" href="a.css">',
  "<LINK REL='alternate stylesheet' HREF=a>": "<LINK REL='alternate stylesheet' HREF=a>",
  '<meta charset="utf-8"><meta name="viewport" content="x">':
    '<meta charset="utf-8"><meta name="viewport" content="x">',
  '<abbr rel=x><links rel=preconnect><metal http-equiv=x>': '<abbr rel=x><links rel=preconnect><metal http-equiv=x>',
  '<a href="b.html" class="target">in</a>': '<a href="b.html" class="target">in</a>',
  '<a href="#x">in</a>': '<a href="#x">in</a>',
  // What no policy rules has another name.
  '<link rel=preconnect href=//x>': '<link rxl=preconnect href=//x>',
  '<LINK/REL="PRECONNECT"HREF=x>': '<LINK/RxL="PRECONNECT"HREF=x>',
  '<link rel="pre&#99;onnect">': '<link rxl="pre&#99;onnect">',
  '<link rel="stylesheet preconnect">': '<link rxl="stylesheet preconnect">',
  '<link\trel\n=\f"icon">': '<link\trxl\n=\f"icon">',
  '<link =rel rel=icon a=b/rel=c>': '<link =rel rxl=icon a=b/rel=c>',
  '<meta http-equiv="refresh" content="0;x">': '<meta hxtp-equiv="refresh" content="0;x">',
  '<meta name="Referrer" content="unsafe-url">': '<meta nxme="Referrer" content="unsafe-url">',
  '<meta name="refe&#114;rer">': '<meta nxme="refe&#114;rer">',
  '<base href="//x" target="_top">': '<base hxef="//x" txrget="_top">',
  '<a target=x rel=opener ping=y referrerpolicy=z href=w>': '<a txrget=x rxl=opener pxng=y rxferrerpolicy=z href=w>',
  '<svg><a><set attributeName="href" to="x">': '<svg><a><set axtributeName="href" to="x">',
  '<animate attributeName="width">': '<animate attributeName="width">',
  // A link to elsewhere opens by itself.
  '<a href="https://x/" target=_top>': '<a target=_blank  href="https://x/" txrget=_top>',
  '<svg><a xlink:href="//x">': '<svg><a target=_blank  xlink:href="//x">',
  // A frame leads to what lies beside it, and says that it is one.
  '<iframe src="b.html#c">': '<iframe src="b.html?in-a-frame#c">',
  '<frame src=b.html?c>': '<frame src=b.html?c&in-a-frame>',
  '<iframe src="http://x/"><iframe src=" //x"><iframe src="&#47;/x"><iframe src="\\\\x"><iframe src="ht\ntp:x">':
    '<iframe sxc="http://x/"><iframe sxc=" //x"><iframe sxc="&#47;/x"><iframe sxc="\\\\x"><iframe sxc="ht\ntp:x">',
  '<iframe src="a&colon;b">': '<iframe sxc="a&colon;b">',
  '<frame src="data:text/html;charset=utf-8;base64,PGxpbmsgcmVsPXg+">':
    '<frame src=?in-a-frame=0  sxc="data:text/html;charset=utf-8;base64,PGxpbmsgcmVsPXg+">',
  '<frame src="data:text/html,<link rel=x>"><frame src="data:text/html;base64,PGxpbmsgcmVsPXg+">':
    '<frame sxc="data:text/html,<link rxl=x>"><frame sxc="data:text/html;base64,PGxpbmsgcmVsPXg+">',
  'é<iframe srcdoc="&lt;link rel=icon&gt;é" src=a>':
    'é<iframe src=?in-a-frame=1  sxcdoc="&lt;link rel=icon&gt;é" src=a?in-a-frame>',
  '<iframe/srcdoc=x>': '<iframe src=?in-a-frame=0 /sxcdoc=x>',
  // Wherever a reader could see a tag.
  '<!-- <p title="--><link rel=icon>">': '<!-- <p title="--><link rxl=icon>">',
  '<textarea><link rel=icon></textarea>': '<textarea><link rxl=icon></textarea>',
  '<a title="<link rel=icon" rel=x>': '<a title="<link rxl=icon" rxl=x>',
  '<link a="<meta b=\'<a rel=x "\'> rel=y': '<link a="<meta b=\'<a rxl=x "\'> rel=y',
  '<link rel=icon': '<link rxl=icon',
  '<link': '<link',
}

describe('HTML that is shown', () => {
  it.each(Object.entries(CASES))('of %j is %j', (text, tamed) => {
    expect(tamedHtml(text, FRAMES)).toBe(tamed)
    const around = `${'x'.repeat(50)}${text}`
    for (const length of [1, 2, 3, 7]) expect(inParts(around, length)).toBe(tamedHtml(around, FRAMES))
  })

  it('is the same in whatever parts it comes', () => {
    const all = Object.keys(CASES).join('\n<p>')
    for (const length of [1, 5, 64, 1_000]) expect(inParts(all, length)).toBe(tamedHtml(all, FRAMES))
  })

  it('has no link, link or frame to elsewhere in a tag that is too long to be read', () => {
    const long = 'x '.repeat(100_000)
    expect(tamedHtml(`<link ${long}rel=preconnect>`)).toMatch(/^<xink /)
    expect(inParts(`<meta ${long}http-equiv=refresh>`, 10_000)).toMatch(/^<xeta /)
    expect(inParts(`<img ${long}src=a>`, 10_000)).toMatch(/^<img /)
  })

  it('loses no quote and no end of a tag, whatever stands in a frame', () => {
    const text = `<link x='<iframe srcdoc="'>">' rel=preconnect href=http://x>`
    expect(tamedHtml(text, FRAMES)).toBe(
      `<link x='<iframe src=?in-a-frame=9  sxcdoc="'>">' rel=preconnect href=http://x>`,
    )
  })

  it('is read to its end, whoever wrote it', () => {
    const hostile = [
      ...['<a x="', "<a x='", '<a x=', '<link ', '<a/', '<iframe srcdoc="', '<iframe srcdoc=\'<iframe srcdoc="'],
      ...['<iframe srcdoc=<iframe/srcdoc=', '<iframe x=y src="data:text/html;charset=utf-8;base64,PGlmcmFtZT4=" '],
      ...['<a x="<a y=\'', '<', '<a b=c<link/'],
    ]
    for (const part of hostile) {
      const text = part.repeat(Math.ceil(500_000 / part.length))
      expect([part, inParts(text, 65_536).length >= text.length]).toEqual([part, true])
    }
  })

  it('comes in small pieces, and a frame of millions of attributes is none: others are served meanwhile', () => {
    const frames = '<iframe src=x '.repeat(100_000)
    expect(Math.max(...pieces(frames, FRAMES).map(({ length }) => length))).toBeLessThan(frames.length / 5)
    const text = `<iframe srcdoc="${'<a>'.repeat(400_000)}`
    expect(Math.max(...pieces(text, FRAMES).map(({ length }) => length))).toBeLessThan(text.length / 5)
    expect(tamedHtml(`<iframe ${'src=x '.repeat(40_000)}>`, FRAMES)).toMatch(/^<xframe /)
  })
})
