import { text } from '../../base/env-settings.ts'
import { type Cookie, isExpired } from '../persona/cookie.ts'
import { credentialsFor } from '../persona/credentials-for.ts'
import { type HostHeaders, headersFor } from '../persona/headers.ts'
import type { RequestContext } from '../request-context.ts'
import { BrowserGone, type Cdp, type Session } from './cdp.ts'
import { inPage } from './in-page.ts'
import { languagesIn } from './languages.ts'
import type { TabSetup } from './tab-setup.ts'

/**
 * Prepares a tab for the persona of a page: cookies and storage in the tab's context, headers for their hosts, language
 * and time zone. A cookie that the browser refuses is logged, and left out.
 */
export async function personaSetup(
  context: Pick<RequestContext, 'env' | 'visit'> & { log(line: string): void },
): Promise<TabSetup> {
  const { cookies, headers, origins } = await credentialsFor(context)
  const [language] = languagesIn(context.env['CHROME_LANGUAGE'])
  const timezoneId = text(context.env, 'CHROME_TIMEZONE')
  // In a separate world no page script can read what fills its storage. All commands are sent at once: a frame with its
  // own process waits for those that were sent when it started.
  const dressed = ({ send }: Session) =>
    Promise.all([
      origins.length > 0 &&
        send('Page.addScriptToEvaluateOnNewDocument', {
          source: inPage('fill-storage', origins),
          worldName: 'persona',
        }),
      language !== undefined && send('Emulation.setLocaleOverride', { locale: language }),
      timezoneId !== undefined && send('Emulation.setTimezoneOverride', { timezoneId }),
    ])
  return async (cdp, tab, inner) => {
    const refused = await setCookies(cdp, cookies, tab.context)
    for (const { name, domain } of refused) context.log(`the browser refuses the cookie ${name} of ${domain}`)
    if (headers.size > 0) {
      // In a separate session: others may intercept the page's requests, too.
      const { sessionId } = await cdp.send('Target.attachToTarget', { targetId: tab.target, flatten: true })
      await sendHeaders(cdp.session(sessionId), headers)
    }
    await dressed(cdp.session(tab.session))
    inner.prepare(async ({ session, kind }) => {
      if (kind === 'frame') await Promise.all([headers.size > 0 && sendHeaders(session, headers), dressed(session)])
    })
  }
}

/** Adds cookies to a context, or to the browser's default one. @returns those that it refuses */
export async function setCookies(cdp: Cdp, cookies: readonly Cookie[], context?: string): Promise<Cookie[]> {
  const all = cookies.filter((cookie) => !isExpired(cookie))
  const set = async (some: readonly Cookie[]) => {
    const browserContextId = context === undefined ? {} : { browserContextId: context }
    await cdp.send('Storage.setCookies', { cookies: some.map(cookieParam), ...browserContextId })
  }
  if (all.length === 0) return []
  try {
    await set(all)
    return []
  } catch (error) {
    if (error instanceof BrowserGone) throw error
    // In one call, a refused cookie would keep all others out.
    const taken = await Promise.all(
      all.map((cookie) =>
        set([cookie]).then(
          () => true,
          () => false,
        ),
      ),
    )
    return all.filter((_, at) => !taken[at])
  }
}

function cookieParam({ name, value, domain, hostOnly, path, secure, httpOnly, expires, sameSite }: Cookie) {
  return {
    ...{ name, value, path, secure, httpOnly },
    // A cookie without a domain applies only to the host of its URL.
    ...(hostOnly ? { url: `${secure ? 'https' : 'http'}://${domain}${path}` } : { domain: `.${domain}` }),
    ...(expires !== undefined && { expires }),
    ...(sameSite !== undefined && { sameSite }),
  }
}

/** Adds headers to the requests to their hosts. A redirect to another host takes none of them along. */
async function sendHeaders(session: Session, headers: HostHeaders): Promise<void> {
  // Headers that a redirect took along, but not those that the page itself sends under such a name.
  const ours = new Set([...headers.values()].flatMap((fields) => Object.entries(fields).map(String)))
  session.on('Fetch.requestPaused', ({ requestId, request }) => {
    const own = Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value] as const)
    const rest = own.filter((header) => !ours.has(String(header)))
    const all = { ...Object.fromEntries(rest), ...headersFor(headers, new URL(request.url)) }
    const given = Object.entries(all).map(([name, value]) => ({ name, value }))
    session.send('Fetch.continueRequest', { requestId, headers: given }).catch(() => {}) // It has been cancelled.
  })
  await session.send('Fetch.enable', { patterns: [{ urlPattern: 'http*' }] })
}
