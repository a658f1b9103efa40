import type { CookieJar } from 'tough-cookie'
import type { Cookie } from '../persona/cookie.ts'

/**
 * The cookies of one redirect chain: those of the persona, and those that servers set on the way, which are forgotten
 * with the chain. Some sites set a cookie and redirect until it comes back: without it they redirect for ever.
 */
export class ChainCookies {
  #jar: CookieJar | undefined
  #isSameSite: (url: URL) => boolean = () => true

  /**
   * Starts a chain with these cookies.
   * @param page the page that needs the requested file: other sites do not get cookies that are only for their own
   *   visitors (SameSite); undefined: a visitor requests it
   */
  static async with(cookies: readonly Cookie[], page?: URL): Promise<ChainCookies> {
    const chain = new ChainCookies()
    if (cookies.length === 0) return chain
    const { Cookie: JarCookie, getPublicSuffix } = await import('tough-cookie')
    const siteOf = ({ hostname }: URL) => getPublicSuffix(hostname, { ignoreError: true }) ?? hostname
    if (page) chain.#isSameSite = (url) => siteOf(url) === siteOf(page)
    const jar = await chain.#filled()
    for (const { name, value, domain, hostOnly, expires, ...rest } of cookies) {
      const cookie = new JarCookie({
        ...rest,
        key: asSent(name),
        value: asSent(value),
        domain: hostOnly ? null : domain,
        expires: expires === undefined ? 'Infinity' : new Date(expires * 1000),
        sameSite: rest.sameSite?.toLowerCase(),
      })
      jar.setCookieSync(cookie, `${rest.secure ? 'https' : 'http'}://${domain}${rest.path}`, { ignoreError: true })
    }
    return chain
  }

  /** Takes the Set-Cookie lines of an answer from `url`. */
  async take(lines: readonly string[], url: URL): Promise<void> {
    if (lines.length === 0) return
    const jar = await this.#filled()
    for (const line of lines) jar.setCookieSync(line, url.href, { ignoreError: true, loose: true })
  }

  /** The Cookie header for `url`; empty when there is none. */
  header(url: URL): string {
    const sameSiteContext = this.#isSameSite(url) ? 'strict' : 'none'
    return this.#jar?.getCookieStringSync(url.href, { sameSiteContext }) ?? ''
  }

  /** The library takes 20 ms to load, and most pages need no cookie. */
  async #filled(): Promise<CookieJar> {
    if (this.#jar) return this.#jar
    const { CookieJar } = await import('tough-cookie')
    this.#jar = new CookieJar()
    return this.#jar
  }
}

/** Node sends one byte for each character: encodes text as the UTF-8 bytes that browsers send. */
const asSent = (text: string) => Buffer.from(text).toString('latin1')

/**
 * Set-Cookie in a form that may be kept: names and attributes, without the values. Several are separated by line feeds.
 */
export function withoutValues(setCookie: string): string {
  return setCookie.replace(/^([^=;\r\n]*)=[^;\r\n]*/gm, '$1=***')
}
