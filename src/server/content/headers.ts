import type { ContentPlace } from './addresses.ts'
import type { Asked } from './asked.ts'
import type { Sent } from './shown-type.ts'

/** So long a browser may keep a file, in seconds: a session may end. */
export const KEPT_S = 60

/** What a copy must not even ask for. */
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

/** What comes with every file of a capture, whatever it is. */
export function contentHeaders(content: Shown, asked: Asked, sent: Sent): Record<string, string> {
  return {
    'Content-Security-Policy': policy(content, asked, sent),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'X-DNS-Prefetch-Control': 'off',
    'Permissions-Policy': DENIED.map((name) => `${name}=()`).join(', '),
    // The app is another site, and a copy is nobody: its own fonts are a stranger's to it.
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Access-Control-Allow-Origin': '*',
    'Cache-Control': `private, max-age=${KEPT_S}`,
  }
}

/**
 * A copy shows what lies in its own folder, and nothing runs. What a person clicks opens by itself, as a page like any
 * other. A viewer of PDFs shows nothing in a sandbox; it does not let a PDF do anything.
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
    // In a sandbox a copy is nobody: whoever shows a frame of its own could not be named.
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
