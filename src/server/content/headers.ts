import type { ContentPlace } from './addresses.ts'
import type { Asked } from './asked.ts'
import type { Sent } from './shown-type.ts'

/** How long a browser may keep a file, in seconds: a session may end. */
export const KEPT_S = 60

/** Features that a copy must not even ask for. */
export const DENIED = [
  ...['camera', 'microphone', 'geolocation', 'payment', 'usb', 'serial', 'hid', 'midi'],
  ...['display-capture', 'fullscreen', 'autoplay', 'clipboard-read', 'clipboard-write', 'storage-access'],
  'browsing-topics',
  ...['private-state-token-issuance', 'private-state-token-redemption', 'identity-credentials-get'],
]

/** Who may show a copy in a frame, and where copies are. */
interface Shown {
  readonly app: string
  readonly copies: { readonly place: ContentPlace }
}

/** The headers of every file of a capture, whatever it is. */
export function contentHeaders(content: Shown, asked: Asked, sent: Sent): Record<string, string> {
  return {
    'Content-Security-Policy': policy(content, asked, sent),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'X-DNS-Prefetch-Control': 'off',
    'Permissions-Policy': DENIED.map((name) => `${name}=()`).join(', '),
    // The app is another site, and a copy has an opaque origin: even its own fonts are cross-origin to it.
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Access-Control-Allow-Origin': '*',
    'Cache-Control': `private, max-age=${KEPT_S}`,
  }
}

/**
 * A copy shows files of its own folder, and runs nothing. A link that a person clicks opens in a window of its own, as
 * any other page. PDF viewers do not work in a sandbox; they do not let a PDF do anything either.
 */
function policy({ app, copies }: Shown, { base, isInner }: Asked, sent: Sent): string {
  const { isWildcard } = copies.place
  const own = isWildcard ? base : `${base}/`
  const pictures = `${own} data: blob:`
  const common = [
    "default-src 'none'",
    "script-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    // In a sandbox a copy has an opaque origin, which could not be named here as the parent of its own frames.
    ...(isInner ? [] : [`frame-ancestors ${app}`]),
  ]
  if (sent === 'pdf' && isWildcard) return [...common, `object-src ${own}`, "style-src 'unsafe-inline'"].join('; ')
  return [
    'sandbox allow-popups allow-popups-to-escape-sandbox',
    ...common,
    `img-src ${pictures}`,
    `media-src ${pictures}`,
    `font-src ${own} data:`,
    `style-src ${own} data: 'unsafe-inline'`,
    `frame-src ${own}`,
  ].join('; ')
}
