import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { HTTPException } from 'hono/http-exception'
import { messageOf } from '../base/errors.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import { setCookie, tokensIn } from './access/cookie.ts'
import { isToken } from './access/server-token.ts'
import { routeApi } from './api/routes.ts'
import { servedAssets } from './assets.ts'
import { isOurOwn } from './door.ts'
import { securityHeaders } from './headers.ts'
import { routeHealth } from './health.ts'
import { routeMetrics } from './metrics.ts'
import { loginPage } from './pages/login.ts'
import { routePages } from './pages/routes.ts'
import { troublePage } from './pages/trouble.ts'
import type { App } from './visit.ts'
import type { Web } from './web.ts'

/** The largest body: our forms contain a code at most. */
const MOST_BODY_BYTES = 16_384

/** The app, from `Request` to `Response`. */
export function createApp(web: Web): App {
  const app: App = new Hono()
  const headers = Object.entries(securityHeaders(web.copies.place))
  app.use(async (c, next) => {
    await next()
    for (const [name, value] of headers) if (!c.res.headers.has(name)) c.res.headers.set(name, value)
  })
  app.onError((error, c) => {
    if (error instanceof HTTPException) return answerTrouble(c, 400, 'The request could not be read', error.message)
    const isAway = isDatabaseAway(error)
    if (isAway) web.database.isAway()
    if (!isAway) web.log.error(`${c.req.method} ${c.req.path}: ${messageOf(error)}`)
    const text = isAway ? 'The database is unavailable' : 'Something went wrong'
    const why = isAway
      ? 'the server waits for it; load this page again'
      : `${messageOf(error)}; logs/server.log has more`
    if (isAway) c.header('Retry-After', '2')
    return answerTrouble(c, isAway ? 503 : 500, text, why)
  })
  app.notFound((c) => answerTrouble(c, 404, 'There is no such page', c.req.path))

  app.use(
    bodyLimit({
      maxSize: MOST_BODY_BYTES,
      onError: (c) => answerTrouble(c, 413, 'The request is too large', 'forms here have only a code'),
    }),
  )
  routeHealth(app, web)
  app.get('/assets/:name', (c) => {
    const found = Object.values(servedAssets()).find(({ path }) => path === c.req.path)
    if (!found) return c.notFound()
    return c.body(found.text, 200, {
      'Content-Type': found.type,
      'Cache-Control': 'public, max-age=31536000, immutable',
    })
  })
  app.get('/login', (c) => c.html(loginPage()))
  app.post('/login', async (c) => {
    if (!isOurOwn(c.req.raw.headers, web.names)) return answerTrouble(c, 403, 'Another page sent this', 'type the code')
    const { code } = await c.req.parseBody().catch(() => ({ code: undefined }))
    const token = typeof code === 'string' ? await web.sessions.begin(code) : undefined
    if (token === undefined)
      return c.html(loginPage('This code is used up, older than five minutes, or mistyped.'), 401)
    c.header('Set-Cookie', setCookie(web.names, token))
    return c.redirect('/', 303)
  })

  app.use(async (c, next) => {
    // A program only reads, and has no session: it may use only what is for programs.
    if (isForPrograms(c) && isToken(c.req.header('authorization'), web.archive.settings.config.SERVER_TOKEN))
      return await next()
    const session = await web.sessions.of(tokensIn(c.req.header('cookie'), web.names))
    if (session === undefined) return refuse(c)
    if (!['GET', 'HEAD'].includes(c.req.method) && !isOurOwn(c.req.raw.headers, web.names))
      return answerTrouble(c, 403, 'Another page sent this', 'nothing was changed')
    c.set('session', session)
    return await next()
  })
  app.post('/logout', async (c) => {
    await web.sessions.end(c.get('session'))
    c.header('Set-Cookie', setCookie(web.names, null))
    return c.redirect('/login', 303)
  })
  routeApi(app, web)
  routeMetrics(app, web)
  routePages(app, web)
  return app
}

/** The answer without a session: a person is asked for a code, a program gets an error. */
function refuse(c: Context): Response {
  if (isForPrograms(c)) return c.json({ error: 'no session: log in, or send a token' }, 401)
  return c.html(loginPage(), 401)
}

const isForPrograms = (c: Context) => c.req.path.startsWith('/api/') || c.req.path === '/metrics'

function answerTrouble(c: Context, status: 400 | 403 | 404 | 413 | 500 | 503, text: string, why: string): Response {
  if (isForPrograms(c)) return c.json({ error: `${text}: ${why}` }, status)
  return c.html(troublePage(text, why), status)
}
