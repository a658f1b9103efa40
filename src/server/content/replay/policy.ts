import { DENIED, KEPT_S } from '../headers.ts'

/**
 * Restricts a page that runs: it may reach its own host, and no other. A single answer of this host without these
 * headers would be a way out, since pages of one host can reach into each other.
 */
export const HELD: Readonly<Record<string, string>> = {
  'Content-Security-Policy': policy("frame-ancestors 'self'"),
  // CSP does not control where a page navigates, what it preconnects to, and WebRTC. Redirects are allowed: this host
  // sends none to other hosts.
  'Connection-Allowlist': '(response-origin);redirects=allow;webrtc=block',
  'Permissions-Policy': DENIED.map((name) => `${name}=()`).join(', '),
  // ReplayWeb.page identifies the requesting page by its referrer.
  'Referrer-Policy': 'same-origin',
  'X-DNS-Prefetch-Control': 'off',
}

/** Sent with every answer of a replay host. */
export const REPLAY_HEADERS: Readonly<Record<string, string>> = {
  ...HELD,
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': `private, max-age=${KEPT_S}`,
}

/** The same for the page that is opened: nobody may show it in a frame. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...REPLAY_HEADERS,
  'Content-Security-Policy': policy("frame-ancestors 'none'"),
  'Cache-Control': 'no-store',
}

/** For the empty page that tests whether the browser obeys: it may not even reach its own host. */
export const PROBE_HEADERS: Readonly<Record<string, string>> = { ...REPLAY_HEADERS, 'Connection-Allowlist': '()' }

function policy(ancestors: string): string {
  return [
    // Without windows of its own, and without programs that a link starts.
    'sandbox allow-scripts allow-same-origin allow-forms',
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:",
    "base-uri 'self'",
    "form-action 'self'",
    ancestors,
  ].join('; ')
}
