import type { Config } from '../base/config.ts'
import { UsageError } from '../base/errors.ts'
import type { ContentPlace } from './content/addresses.ts'

/** Where a server listens. */
export interface Listen {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
}

/** The names of loopback: typed by hand, and redirected to the name of the app. */
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

/** The names that a server answers to, and its own. */
export interface Names {
  /** Eight hexadecimal digits of the data dir, in the names of the app's host and its cookie. */
  readonly short: string
  /** The origin of the app: scheme, host and port. */
  readonly origin: string
  /** The `Host` of the app, as a browser sends it. */
  readonly host: string
  /** Hosts that are redirected to the app, and get nothing else. */
  readonly others: readonly string[]
  /** The name of the session's cookie; over TLS no other host can set it. */
  readonly cookie: string
  readonly isSecure: boolean
}

type Urls = Pick<Config, 'PUBLIC_URL' | 'CONTENT_URL'>

/** Throws UsageError when the settings put app and copies where they cannot be. */
export function refuseUrls({ PUBLIC_URL: app, CONTENT_URL: content }: Urls): void {
  if (app === undefined) return
  const isLoopback = LOOPBACK.includes(app.hostname) || app.hostname.endsWith('.localhost')
  if (app.protocol === 'http:' && !isLoopback)
    throw new UsageError(`PUBLIC_URL=${app.origin}: without TLS others can read everything`, 'use https://')
  if (!isLoopback && content === undefined)
    throw new UsageError(
      `PUBLIC_URL=${app.origin}: copies need a separate host`,
      'set CONTENT_URL to a URL such as https://*.copies.example.org or https://copies.example.org',
    )
  if (content === undefined) return
  if (app.protocol === 'https:' && content.protocol !== 'https:')
    throw new UsageError(`CONTENT_URL=${content.origin}: the app has TLS, so copies need it, too`, 'use https://')
  // Cookies ignore ports, and the host name of a capture could be that of the app.
  const isCovered = content.hostname.startsWith('*.') && app.hostname.endsWith(content.hostname.slice(1))
  if (content.hostname === app.hostname || isCovered)
    throw new UsageError(`CONTENT_URL=${content.origin}: copies must not share the app's host`, 'use another host')
}

/**
 * The names of the app of a data dir. Ports are no boundary for cookies, so it has a host name that no other program on
 * this machine uses: browsers take every name below `localhost` for loopback. Whoever can listen on a port of this
 * machine, and make a person follow a link to that name there, still gets the cookie: only TLS helps against that.
 * @param listen where it listens, with the actual port
 */
export function namesOf(dataDirId: string, listen: Listen, { PUBLIC_URL: publicUrl }: Urls): Names {
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

/** Where copies are served. @param listen where their listener is, with the actual port */
export function contentPlaceOf(listen: Listen, { PUBLIC_URL: app, CONTENT_URL: content }: Urls): ContentPlace {
  if (content) {
    const isWildcard = content.host.startsWith('*.')
    const protocol = content.protocol === 'https:' ? 'https:' : 'http:'
    return { protocol, host: isWildcard ? content.host.slice(2) : content.host, isWildcard }
  }
  // A browser that is sent to a loopback address may not know the names below `localhost`.
  if (app && LOOPBACK.includes(app.hostname))
    return { protocol: 'http:', host: `${app.hostname}:${listen.port}`, isWildcard: false }
  return { protocol: 'http:', host: `localhost:${listen.port}`, isWildcard: true }
}
