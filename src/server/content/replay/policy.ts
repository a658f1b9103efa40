import { DENIED, KEPT_S } from '../headers.ts'

/**
 * What holds back a page that runs: it may use what its own host has, and nobody else. One answer of this host without
 * that would be a way out, since pages of one host reach into each other.
 */
export const HELD: Readonly<Record<string, string>> = {
  'Content-Security-Policy': policy("frame-ancestors 'self'"),
  // No CSP rules where a page goes, what it connects to ahead, and WebRTC. Of redirects this asks nothing: nobody here
  // sends one to another host.
  'Connection-Allowlist': '(response-origin);redirects=allow;webrtc=block',
  'Permissions-Policy': DENIED.map((name) => `${name}=()`).join(', '),
  // ReplayWeb.page tells by the referrer which page asks.
  'Referrer-Policy': 'same-origin',
  'X-DNS-Prefetch-Control': 'off',
}

/** What comes with every answer of a host of replay. */
export const REPLAY_HEADERS: Readonly<Record<string, string>> = {
  ...HELD,
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': `private, max-age=${KEPT_S}`,
}

/** The same for the page that is opened: nobody shows it in a frame. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...REPLAY_HEADERS,
  'Content-Security-Policy': policy("frame-ancestors 'none'"),
  'Cache-Control': 'no-store',
}

/** For the empty page that finds out whether the browser obeys: it may not even ask its own host. */
export const PROBE_HEADERS: Readonly<Record<string, string>> = { ...REPLAY_HEADERS, 'Connection-Allowlist': '()' }

function policy(ancestors: string): string {
  return [
    // Without a window of its own, and without programs that an address starts.
    'sandbox allow-scripts allow-same-origin allow-forms',
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:",
    "base-uri 'self'",
    "form-action 'self'",
    ancestors,
  ].join('; ')
}
