import type { Routes } from './site.ts'

const script = (title: string, code: string) =>
  `<!doctype html><title>${title}</title><p>${title}</p><script>${code}</script>`

/** An open request, which keeps a page from settling. It ends with its page, or with `busy.abort()`. */
const BUSY = `const busy = new AbortController(); fetch('/hangs', { signal: busy.signal }).catch(() => {});`

/** Pages that demand more than a visitor gives: a visit of each does no harm to the next one. */
export const hostilePages: Routes = {
  '/asks-for-ever': script('asks', 'for (;;) confirm("more?")'),
  '/holds-on': script(
    'holds',
    `${BUSY} document.body.append(Object.assign(document.createElement('iframe'), { srcdoc: '<img src=/hangs>' }))
     onbeforeunload = () => 'stay'; setTimeout(() => { location = '/left' }, 100)`,
  ),
  '/trickles': (_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .write(script('trickles', `setTimeout(() => { location = '/left' }, 100)`)),
  '/left': script('left', ''),
  '/floods': script('floods', 'setInterval(() => { for (let i = 0; i < 2e3; i++) console.log("x".repeat(1e3)) }, 1)'),
  '/prints': script('prints', 'setInterval(print, 10)'),
  '/opens': script(
    'opens',
    `open('/pop-up')
     const form = Object.assign(document.createElement('form'), { target: '_blank', action: '/pop-up' })
     document.body.append(form); form.submit()
     const link = Object.assign(document.createElement('a'), { href: '/pop-up', target: '_blank' })
     document.body.append(link); link.click()`,
  ),
  '/wants': script(
    'wants',
    `${BUSY} const all = {
       place: () => new Promise((yes, no) => navigator.geolocation.getCurrentPosition(yes, no)),
       clipboard: () => navigator.clipboard.readText(), midi: () => navigator.requestMIDIAccess(),
       camera: () => navigator.mediaDevices.getUserMedia({ video: true }), usb: () => navigator.usb.requestDevice({}),
     }
     const ask = async ([name, get]) => await get().then(() => name, () => [])
     Promise.all(Object.entries(all).map(ask)).then((got) => {
       document.title = 'got: ' + got.flat(); busy.abort() })`,
  ),
  '/downloads': script(
    'downloads',
    `const link = document.createElement('a')
     link.href = URL.createObjectURL(new Blob([new Uint8Array(1e7)])); link.download = 'x.bin'
     setInterval(() => link.click(), 20); setTimeout(() => { location = '/attachment' }, 300)`,
  ),
  '/attachment': (_request, response) =>
    response.writeHead(200, { 'content-disposition': 'attachment; filename=x' }).end('file'),
  '/serves-itself': script(
    'serves',
    `${BUSY} navigator.serviceWorker.register('/worker.js').then(async () => {
       await navigator.serviceWorker.ready; document.title = await (await fetch('/real')).text(); busy.abort() })`,
  ),
  '/worker.js': (_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/javascript' })
      .end('onactivate = () => clients.claim(); onfetch = (e) => e.respondWith(new Response("from the worker"))'),
  '/real': 'from the server',
  '/draws': script(
    'draws',
    `const canvas = document.body.appendChild(document.createElement('canvas')), gl = canvas.getContext('webgl')
     document.title = 'WebGL: ' + !!gl; setInterval(() => { for (let i = 0; i < 1e4; i++) gl?.clear(16384) }, 1)`,
  ),
  '/embeds': script(
    'embeds',
    `const blob = URL.createObjectURL(new Blob(['<p>blob frame'], { type: 'text/html' }))
     for (const src of ['data:text/html,<p>data frame', blob])
       document.body.append(Object.assign(document.createElement('iframe'), { src }))`,
  ),
  '/mails': script('mails', `location = 'mailto:somebody@example.com'`),
  '/reloads': script('reloads', 'setTimeout(() => location.reload(), 0)'),
  '/refreshes': '<!doctype html><title>refreshes</title><meta http-equiv="refresh" content="0"><p>refreshes',
  '/nests': script(
    'nests',
    `const frame = document.createElement('iframe')
     frame.src = '/nests?' + Math.random(); document.body.append(frame)`,
  ),
  '/crowds': `<!doctype html><title>crowds</title><p>${'<b>crowds</b>'.repeat(25_000)}
    <div id="banner" style="position: fixed; bottom: 0; width: 100%">We use cookies. <button>Fine</button></div>`,
  '/works': script(
    'works',
    `${BUSY} new Worker('/work.js').onmessage = ({ data }) => { document.title = data; busy.abort() }`,
  ),
  '/work.js': (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/javascript' }).end('postMessage("works on")'),
}
