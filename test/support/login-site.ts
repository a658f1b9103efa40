import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A secret that no file, row, log or argument may contain. */
export const CANARY = 'canary-7f3a'
/** The session that a login opens, and the one that each later page replaces it with. */
export const SESSION = `${CANARY}-session`
const RENEWED = `${CANARY}-renewed`

/** A site that shows its pages only after a login. */
export interface LoginSite {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  /** The same site under another host name. */
  readonly otherUrl: string
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[]
  close(): Promise<void>
}

const FORM =
  '<title>Log in</title><form method="post" action="/login"><input name="user">' +
  '<input type="password" name="password"><button>Log in</button></form>'

/** The public facts about its visitor; with pictures of this host, and of another one. */
const privatePage = (otherUrl: string) => `<title>Private</title><p>Welcome back.</p><p id="you"></p>
  <img src="/picture.png"><img src="/away"><img src="${otherUrl}/elsewhere?direct"><a href="/logout">Log out</a>
  <script>
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
    const token = localStorage.getItem('token')
    const stored = token ? 'known' : 'unknown'
    if (localStorage.getItem('tells')) {
      const inside = (place) => place.innerHTML = \`<form><input type="hidden" value="\${token}">
        <input type="password" value="\${token}"><input autocomplete="current-password" value="\${token}">
        <template><input type="hidden" value="\${token}"></template><input id="typed" type="password"></form>\`
      inside(document.body.appendChild(document.createElement('section')))
      typed.value = token
      inside(document.body.appendChild(document.createElement('div')).attachShadow({ mode: 'closed' }))
      const frame = document.body.appendChild(document.createElement('iframe'))
      inside(frame.contentDocument.body)
      console.log('my token is', token)
      fetch('/api', { method: 'POST', headers: { 'X-Auth-Token': token, 'X-Other': token }, body: token })
    }
    you.textContent = [navigator.language, timeZone, innerWidth, navigator.userAgent, stored].join(' ')
  </script>`

/** `/login` opens a session, `/private` requires one. */
export async function startLoginSite(): Promise<LoginSite> {
  const requests: { path: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer((request, response) => {
    const { url: path = '/', headers, method } = request
    requests.push({ path, headers })
    const page = (html: string, more = {}) => {
      response.writeHead(200, { 'content-type': 'text/html', ...more }).end(html)
    }
    const isLoggedIn = new RegExp(`\\bsid=(${SESSION}|${RENEWED})\\b`).test(headers.cookie ?? '')
    if (path === '/login' && method === 'POST') {
      const cookies = [`sid=${SESSION}; HttpOnly; SameSite=Lax`, 'theme=dark; Max-Age=3600']
      response.writeHead(303, { location: '/private', 'set-cookie': cookies }).end()
    } else if (path === '/private' && isLoggedIn)
      page(privatePage(otherUrl), { 'set-cookie': `sid=${RENEWED}; HttpOnly` })
    else if (path === '/never') return
    else if (path === '/api') page('{}', { 'x-session-token': `${CANARY}-answer` })
    else if (path === '/to-private') response.writeHead(302, { location: '/private' }).end()
    else if (path === '/sign-on') response.writeHead(302, { location: `${otherUrl}/signed-on` }).end()
    else if (path === '/signed-on') page('<title>In</title>', { 'set-cookie': `sid=${RENEWED}; HttpOnly` })
    else if (path === '/away') response.writeHead(302, { location: `${otherUrl}/elsewhere` }).end()
    else if (path === '/guarded') response.writeHead(302, { location: '/login' }).end()
    else if (path === '/leads') response.writeHead(302, { location: '/accounts/login' }).end()
    else if (path === '/members') response.writeHead(403).end()
    else if (path === '/gone') response.writeHead(404).end()
    // In two steps: the first asks only for a name.
    else if (path === '/accounts/login') page('<title>Log in</title><form><input name="user"></form>')
    else page(path === '/elsewhere' ? '<title>Elsewhere</title><p>Hello.</p>' : FORM)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const otherUrl = `http://localhost:${port}`
  return {
    url: `http://127.0.0.1:${port}`,
    otherUrl,
    requests,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Cookies as a browser extension exports them after a login there; one has expired. */
export const COOKIES_TXT = [
  '# Netscape HTTP Cookie File',
  `#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t${SESSION}`,
  `127.0.0.1\tFALSE\t/\tFALSE\t1000000000\told\t${CANARY}-old`,
  '',
].join('\n')
