import { asset, bytes, type Routes, RUSSIAN, windows1251 } from './site.ts'

/** A page from a template; its scripts make the parts that only a browser sees. */
const page = (title: string, body: string) =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>` +
  `<link rel="stylesheet" href="/look.css"></head><body>${body}</body></html>`

/** Pages that need more than a request, and pages that try a browser's patience. */
export const hardPages: Routes = {
  '/look.css': bytes('text/css', '@import "/more.css"; body { background: url("/dusk.png") }'),
  '/more.css': bytes('text/css', 'h1 { color: rgb(1, 2, 3) }'),
  '/dusk.png': bytes('image/png', asset('dusk.png')),
  '/rich': page(
    'served title',
    `<h1>Rich</h1><img src="/dusk.png" srcset="/dusk.png 1x" alt="dusk">
     <div style="height: 5000px"></div><img loading="lazy" src="/dusk.png?lazy" alt="late">
     <iframe src="/frame"></iframe><fancy-box></fancy-box><p id="made"></p>
     <div><template shadowrootmode="closed"><p>text of a closed root</p></template></div>
     <script>
       customElements.define('fancy-box', class extends HTMLElement {
         connectedCallback() { this.attachShadow({ mode: 'open' }).innerHTML = '<p>text of a shadow root</p>' }
       })
       document.title = 'title by a script'
       made.innerHTML = 'text by a script <a href="/found-by-a-browser">link by a script</a>'
       console.warn('a warning', 42)
       setTimeout(() => { throw new Error('a late error') })
     </script>`,
  ),
  '/frame': page('frame', '<p>text of a frame</p><script>document.body.append("frame script")</script>'),
  '/moved': (_request, response) => response.writeHead(302, { location: '/rich' }).end(),
  '/tall': page('tall', '<div style="height: 30000px; background: linear-gradient(red, blue)">tall</div>'),
  '/boxed': page(
    'boxed',
    `<style>html, body { height: 100%; overflow: hidden; margin: 0 }
       main { position: fixed; inset: 40px 0 0; display: flex; flex-direction: column }
       section { flex: 1 1 0px; min-height: 0 } boxed-text { display: block }</style>
     <header>header</header><main><section><boxed-text></boxed-text></section><footer>footer</footer></main>
     <script>
       const host = document.querySelector('boxed-text')
       host.style.height = '100%'
       host.attachShadow({ mode: 'open' }).innerHTML = '<div style="height: 100%; overflow: auto">' +
         '<p>a line of the text that scrolls in a box</p>'.repeat(200) + '<p>the last words</p></div>'
     </script>`,
  ),
  '/alerts': page('alerts', '<p>alerts</p><script>open("/pop-up"); for (let i = 0; i < 20; i++) alert(i)</script>'),
  '/busy': page('busy', '<p>busy</p><script>onload = () => setTimeout(() => { while (true); }, 50)</script>'),
  '/bomb': page(
    'bomb',
    `<p>bomb</p><script>
       const all = []
       setInterval(() => fetch('/look.css?' + Math.random()), 100)
       setInterval(() => all.push(new Uint8Array(1e8).fill(1)), 50)
     </script>`,
  ),
  '/cyrillic': bytes('text/html; charset=windows-1251', windows1251(`<title>x</title><p>${RUSSIAN}</p>`)),
  '/moves': page(
    'moves',
    '<p>first</p><script>fetch("/hangs"); setTimeout(() => { location = "/de/second" }, 300)</script>',
  ),
  '/de/second': page('second', '<p>second</p><a href="third">third</a>'),
  '/leads-nowhere': page('leads', '<p>first</p><script>location = "http://127.0.0.1:1/"</script>'),
  '/restless': page(
    'restless',
    '<p>restless</p><script>setInterval(() => fetch("/look.css?" + Math.random()), 100)</script>',
  ),
  '/styled.xml': bytes(
    'text/xml',
    '<?xml-stylesheet type="text/xsl" href="/styled.xsl"?><list><item>one</item></list>',
  ),
  '/styled.xsl': bytes(
    'text/xsl',
    `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/">
     <html><body><h1>Item <xsl:value-of select="list/item"/> by a style sheet</h1></body></html>
     </xsl:template></xsl:stylesheet>`,
  ),
  '/download': bytes('application/zip', 'PK', { 'content-disposition': 'attachment; filename=x.zip' }),
}
