/** Where a server listens. */
export interface Listen {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
}

/** The names of loopback: what is typed by hand, and led on to the name of the app. */
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

/** By which names a server is asked, and what it calls itself. */
export interface Names {
  /** Eight hexadecimal digits of the data dir: they name the app's host and its cookie. */
  readonly short: string
  /** Where the app is: scheme, host and port. */
  readonly origin: string
  /** The `Host` of the app, as a browser sends it. */
  readonly host: string
  /** Hosts that lead to the app, and are told nothing else. */
  readonly others: readonly string[]
  /** The name of the session's cookie; over TLS no other host can set it. */
  readonly cookie: string
  readonly isSecure: boolean
}

/**
 * The names of the app of a data dir. Ports are no boundary for cookies, so it lives at a name that no other program
 * of this machine has: browsers take every name below `localhost` for loopback.
 * @param listen where it listens, its port known
 * @param publicUrl where a proxy makes it known
 */
export function namesOf(dataDirId: string, listen: Listen, publicUrl: URL | undefined): Names {
  const short = dataDirId.replaceAll('-', '').slice(-8)
  const port = listen.port === 80 ? '' : `:${listen.port}`
  const own = `abx-${short}.localhost${port}`
  const host = publicUrl?.host ?? own
  const isSecure = publicUrl?.protocol === 'https:'
  const others = [...LOOPBACK.map((name) => `${name}${port}`), own].filter((name) => name !== host)
  return {
    short,
    host,
    origin: publicUrl?.origin ?? `http://${own}`,
    others,
    cookie: `${isSecure ? '__Host-' : ''}abx_${short}`,
    isSecure,
  }
}
