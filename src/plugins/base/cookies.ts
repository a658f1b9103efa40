const MAX_COOKIES = 100

interface Cookie {
  readonly name: string
  readonly value: string
  readonly host: string
  readonly subdomains: boolean
}

/**
 * Cookies of one redirect chain. Some sites set a cookie and redirect until it comes back: without it they redirect for
 * ever. Path, expiry and Secure do not matter for the second that a chain lives.
 */
export class ChainCookies {
  readonly #cookies = new Map<string, Cookie>()

  /** Takes the Set-Cookie lines of an answer from `url`. */
  take(lines: readonly string[], url: URL): void {
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
      const equals = pair.indexOf('=')
      if (equals < 1 || this.#cookies.size >= MAX_COOKIES) continue
      const domain = attributes
        .find((attribute) => /^domain=./i.test(attribute))
        ?.slice('domain='.length)
        .replace(/^\./, '')
        .toLowerCase()
      // A cookie for another site, or for a whole top-level domain, stays with the host that set it.
      const shared = domain?.includes('.') && `.${url.hostname}`.endsWith(`.${domain}`) ? domain : undefined
      const name = pair.slice(0, equals)
      const host = shared ?? url.hostname
      this.#cookies.set(`${host} ${name}`, {
        name,
        value: pair.slice(equals + 1),
        host,
        subdomains: shared !== undefined,
      })
    }
  }

  /** The Cookie header for `url`; empty when there is none. */
  header(url: URL): string {
    const sent = [...this.#cookies.values()].filter(({ host, subdomains }) =>
      subdomains ? `.${url.hostname}`.endsWith(`.${host}`) : url.hostname === host,
    )
    return sent.map(({ name, value }) => `${name}=${value}`).join('; ')
  }
}
