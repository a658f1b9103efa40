import type { IncomingMessage, ServerResponse } from 'node:http'
import { bytes, type Routes } from './site.ts'

/** A picture of the colour after the `?`. */
const picture = (request: IncomingMessage, response: ServerResponse) => {
  const colour = decodeURIComponent(request.url?.split('?')[1] ?? 'black')
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">
    <rect width="40" height="40" fill="${colour}"/></svg>`
  response.writeHead(200, { 'content-type': 'image/svg+xml' }).end(svg)
}

const STYLE = `
  @import "more.css";
  @font-face { font-family: Served; src: url(gone.woff), url(../font); size-adjust: 200% }
  :root { --tile: url(/pic?pink) }
  .font { font-family: Served }
  .tile { width: 40px; height: 40px; display: inline-block }
  .variable { background: var(--tile) }
  .set { background-image: image-set("/pic?khaki" 1x, "/pic?red" 2x) }
  .part { background: url("/parts.svg#b") }
  @font-face { font-family: Here; src: local("OpenSans-Regular"), url(../here) }
  .here { font-family: Here }
  .before::before { content: url(/pic?plum) }
  div:not(:defined) { display: none }
  later-defined:not(:defined) { display: none }`

/** Everything that a page can show, in many ways: each tile has its own colour, and red ones must not be visible. */
const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Rich</title>
<link rel="stylesheet" href="/css/style.css"><link rel="stylesheet" href="/css/print.css" media="print">
<link rel="stylesheet" href="/moved.css">
<link rel="alternate stylesheet" title="other" href="/css/other.css">
</head><body>
<p class="font">a font</p><span id="made-rule">a rule by a script</span><span id="adopted">an adopted rule</span><br>
<i class="tile variable"></i><i class="tile set"></i><i class="before"></i><i class="tile imported"></i>
<p class="here">a font that this machine has</p><i class="tile moved"></i>
<img src="/parts.svg#a"><img src="/parts.svg#b"><i class="tile part"></i>
<iframe src="/frames-of-rich" height="60"></iframe>
<canvas id="three" width="40" height="40"></canvas><canvas id="foreign" width="40" height="40"></canvas>
<picture><source media="(max-width: 9px)" srcset="/pic?red"><source srcset="/pic?lime"><img src="/pic?red"></picture>
<img srcset="/pic?red 9w, /pic?cyan 2000w" sizes="1500px"><img loading="lazy" src="/pic?orange">
<svg width="40" height="40"><use href="/sprite.svg#shape" /></svg>
<svg width="40" height="40"><image href="/pic?salmon" width="40" height="40" /></svg>
<canvas id="canvas" width="40" height="40"></canvas><video poster="/pic?violet" width="40" height="40"></video>
<input type="image" src="/pic?wheat"><object data="/pic?olive" type="image/svg+xml"></object><embed src="/pic?coral">
<input id="typed"><input type="password" id="secret" hidden><textarea id="area"></textarea>
<select><option>a<option id="option">b</select><input type="checkbox" id="box"><br>
<open-root></open-root><closed-root></closed-root><adopting-root></adopting-root><later-defined>defined</later-defined>
<div><template shadowrootmode="closed"><style>p { background: tomato }</style><p>declared, closed</p></template></div>
<iframe src="/frame-of-rich" height="60"></iframe>
<iframe src="data:text/html,<body style='background: orchid'>data" height="60"></iframe>
<iframe srcdoc="<style>body { background: lightblue }</style><img src='/pic?navy'>" height="60"></iframe>
<iframe id="blob" height="60"></iframe><iframe id="written" height="60"></iframe>
<p dir="rtl">שלום</p><noscript>no script</noscript>
<script>
  const element = (name, make) =>
    customElements.define(name, class extends HTMLElement { constructor() { super(); make?.(this) } })
  const KHAKI = 'p { --it: khaki; background: var(--it); background-size: auto }'
  const sheet = (css) => { const made = new CSSStyleSheet(); made.replaceSync(css); return made }
  const root = (mode, html, css) => (host) => {
    const made = host.attachShadow({ mode })
    made.innerHTML = html
    if (css) made.adoptedStyleSheets = [sheet(css)]
  }
  element('open-root', root('open', '<style>p { background: lightgreen }</style><p>open <img src="/pic?green"></p>'))
  element('closed-root', root('closed', '<style>p { background: lightpink }</style><p>closed</p>'))
  element('adopting-root', root('open', '<p>adopting</p>', KHAKI))
  element('later-defined')
  document.adoptedStyleSheets = [sheet('#adopted { background: palegreen }')]
  document.head.append(document.createElement('style'))
  document.head.lastChild.sheet.insertRule(
    '#made-rule { --it: teal; border: 5px solid var(--it); border-top-width: 9px }')
  const drawing = canvas.getContext('2d')
  drawing.fillStyle = 'rebeccapurple'
  drawing.fillRect(0, 0, 40, 40)
  const space = three.getContext('webgl')
  space.clearColor(0, 0.5, 0.5, 1)
  space.clear(space.COLOR_BUFFER_BIT)
  const other = new Image()
  other.onload = () => foreign.getContext('2d').drawImage(other, 0, 0)
  other.src = location.origin.replace('127.0.0.1', 'localhost') + '/pic?tomato'
  blob.src = URL.createObjectURL(new Blob(['<body style="background: thistle">'], { type: 'text/html' }))
  written.contentDocument.write('<body style="background: gold">')
  written.contentDocument.close()
  typed.value = 'typed'
  secret.value = 'hunter2'
  area.value = 'area'
  option.selected = box.checked = true
</script></body></html>`

/** @param font any font file */
export const richPage = (font: Uint8Array): Routes => ({
  '/rich': PAGE,
  '/pic': picture,
  '/font': bytes('font/ttf', font),
  '/css/style.css': bytes('text/css', STYLE),
  '/css/more.css': bytes('text/css', '.imported { background: url("/pic?aqua") }'),
  '/css/print.css': bytes('text/css', 'body { display: none }'),
  '/css/other.css': bytes('text/css', 'body { background: red }'),
  '/here': bytes('font/ttf', font),
  '/moved.css': (_request, response) => response.writeHead(302, { location: '/css/in/moved.css' }).end(),
  '/css/in/moved.css': bytes('text/css', '.moved { background: url(../../pic?sienna) }'),
  '/frames-of-rich': '<frameset cols="50%,50%"><frame src="/frame-of-rich"><frame src="/frame-of-rich?2"></frameset>',
  '/parts.svg': bytes(
    'image/svg+xml',
    `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><style>rect:not(:target) { display: none }</style>
     <rect id="a" width="40" height="40" fill="peru"/><rect id="b" width="40" height="40" fill="indigo"/></svg>`,
  ),
  '/sprite.svg': bytes(
    'image/svg+xml',
    `<svg xmlns="http://www.w3.org/2000/svg"><linearGradient id="fade"><stop stop-color="brown"/></linearGradient>
     <symbol id="shape"><rect width="40" height="40" fill="url(#fade)"/></symbol></svg>`,
  ),
  '/frame-of-rich':
    '<body style="background: lightyellow">frame<img src="/pic?skyblue">' +
    '<b><template shadowrootmode=closed><i style="background: tan">closed in a frame</i></template></b>',
})
