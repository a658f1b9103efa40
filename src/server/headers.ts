import type { ContentPlace } from './content/addresses.ts'

/** The source of frames, pictures and media of copies. */
export function contentSource({ protocol, host, isWildcard }: ContentPlace): string {
  return `${protocol}//${isWildcard ? '*.' : ''}${host}`
}

/** The headers of every answer of the app. */
export function securityHeaders(place: ContentPlace): Readonly<Record<string, string>> {
  const copies = contentSource(place)
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `img-src 'self' ${copies}`,
      `media-src ${copies}`,
      `frame-src ${copies}`,
      "connect-src 'self'",
      "worker-src 'self'",
      "manifest-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
    'Cache-Control': 'no-store',
  }
}
