import type { IncomingMessage } from 'node:http'
import type { Routes } from './site.ts'

/** A page whose full content shows only after scrolling and expanding, behind a banner that asks for consent. */
const PAGE = `<!doctype html><html lang="en" style="overflow: hidden"><head><meta charset="utf-8"><title>Folded</title>
<style>
  body { overflow: hidden; margin: 0 }
  .box { display: flex; overflow: auto; width: 300px; height: 60px }
  .box.down { display: block; width: 60px }
  .box img { flex: none; width: 90px; height: 50px; display: block }
  #banner { position: fixed; inset: auto 0 0 0; background: red }
  #veil { position: fixed; inset: 0; background: rgba(255, 0, 0, 0.5) }
  #menu { position: absolute }
  #late { margin-top: 5000px; width: 50px; height: 50px }
</style></head><body>
<div id="along" class="box"></div><div id="down" class="box down"></div>
<button id="more" onclick="this.replaceWith('behind a button')">Read more</button>
<a href="#" onclick="this.replaceWith('behind a link'); return false">Mehr anzeigen</a>
<button aria-expanded="false" aria-controls="section" onclick="section.hidden = false">A section</button>
<p id="section" hidden>in a section</p>
<details><summary>More</summary>in details</details>
<nav><details id="in-nav"><summary>Menu</summary>in a menu</details></nav>
<details id="drop"><summary>Drop-down</summary><p id="menu">in a drop-down menu</p></details>
<a href="/elsewhere">Read more</a><button onclick="location = '/elsewhere'">Show more</button>
<form action="/elsewhere"><button>Load more</button></form>
<ul id="list"></ul><button onclick="list.append(document.createElement('li'))">Load more</button>
<img id="forgotten" data-src="/small.svg?forgotten">
<div id="late"></div>
<div id="veil"></div><div id="banner"><p>We use cookies.</p><button>Accept</button></div>
<script>
  for (const box of [along, down])
    for (let i = 0; i < 12; i++) box.append(Object.assign(new Image(), { loading: 'lazy', alt: i }))
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue
      if (target === late) late.style.background = 'url(/small.svg?late)'
      else target.src = '/small.svg?' + target.parentNode.id + target.alt
      seen.unobserve(target)
    }
  })
  for (const target of [late, ...along.children, ...down.children]) seen.observe(target)
</script></body></html>`

const SMALL = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="50"><rect width="90" height="50"/></svg>'

/** @param asked collects the requested pictures */
export const foldedPage = (asked: Set<string>): Routes => ({
  '/folded': PAGE,
  '/small.svg': (request: IncomingMessage, response) => {
    asked.add(request.url?.split('?')[1] ?? '')
    response.writeHead(200, { 'content-type': 'image/svg+xml' }).end(SMALL)
  },
  '/endless': `<title>Endless</title><p>start</p><script>
    const grow = () => document.body.append(Object.assign(document.createElement('p'), { style: 'height: 3000px' }))
    addEventListener('scroll', grow)
    grow()</script>`,
})
