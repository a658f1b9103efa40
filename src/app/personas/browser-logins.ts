import { setTimeout as sleep } from 'node:timers/promises'
import type { Cdp } from '../../browse/browser/cdp.ts'
import { type Cookie, merged, sameSiteOf } from '../../browse/persona/cookie.ts'
import type { OriginStorage } from '../../browse/persona/storage.ts'

export { setCookies } from '../../browse/browser/persona.ts'

/** A page that shows a dialog, or is busy, does not answer. */
const ANSWER_MS = 2_000

/** The logins that a browser holds. */
export interface BrowserLogins {
  readonly cookies: readonly Cookie[]
  readonly origins: readonly OriginStorage[]
}

const STORAGE =
  '({ origin: location.origin, localStorage: Object.entries(localStorage).map(([name, value]) => ({ name, value })) })'

/** All its cookies, including session cookies and those hidden from scripts, and the storage of the open pages. */
export async function loginsOf(cdp: Cdp, sessions: Map<string, string>): Promise<BrowserLogins> {
  const { cookies } = await cdp.send('Storage.getCookies')
  const plain = cookies.toSorted((a, b) => Number(b.partitionKey !== undefined) - Number(a.partitionKey !== undefined))
  const all = plain.map(
    ({ name, value, domain, path, secure, httpOnly, expires, sameSite }): Cookie => ({
      ...{ name, value, path, secure, httpOnly, sameSite: sameSiteOf(sameSite ?? '') },
      domain: domain.replace(/^\./, ''),
      hostOnly: !domain.startsWith('.'),
      expires: expires > 0 ? Math.floor(expires) : undefined,
    }),
  )
  return { cookies: merged([], all), origins: await storageOf(cdp, sessions) }
}

/** @param sessions the sessions of pages that were contacted before, by target */
async function storageOf(cdp: Cdp, sessions: Map<string, string>): Promise<OriginStorage[]> {
  const { targetInfos } = await cdp.send('Target.getTargets')
  // A page that is just navigating away may not tell its URL.
  const pages = targetInfos.filter(({ type }) => type === 'page')
  const found = pages.map(async ({ targetId }) => {
    try {
      const session =
        sessions.get(targetId) ?? (await cdp.send('Target.attachToTarget', { targetId, flatten: true })).sessionId
      sessions.set(targetId, session)
      const look = () => cdp.session(session).send('Runtime.evaluate', { expression: STORAGE, returnByValue: true })
      // A page that is just navigating away refuses.
      const answer = await Promise.race([look().catch(look), sleep(ANSWER_MS, undefined, { ref: false })])
      return (answer?.result.value as OriginStorage | undefined) ?? []
    } catch {
      return [] // It has been closed, or has no storage.
    }
  })
  const all = (await Promise.all(found)).flat()
  return all.filter(({ origin, localStorage }) => /^https?:/.test(origin) && localStorage.length > 0)
}
