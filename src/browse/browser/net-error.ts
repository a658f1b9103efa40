import { AppError } from '../../base/errors.ts'

/** The meaning of Chromium's error codes, in the words of our own requests (network-errors.ts). */
const LINES: ReadonlyMap<string, (host: string) => string> = new Map(
  Object.entries({
    CONNECTION_REFUSED: (host) => `connection refused by ${host}`,
    CONNECTION_RESET: (host) => `connection reset by ${host}`,
    CONNECTION_CLOSED: (host) => `connection closed by ${host}`,
    EMPTY_RESPONSE: (host) => `connection closed by ${host} without an answer`,
    NAME_NOT_RESOLVED: (host) => `host not found: ${host}`,
    CONNECTION_TIMED_OUT: (host) => `connection to ${host} timed out`,
    TIMED_OUT: (host) => `connection to ${host} timed out`,
    ADDRESS_UNREACHABLE: (host) => `host unreachable: ${host}`,
    INTERNET_DISCONNECTED: (host) => `network unreachable: ${host}`,
    TOO_MANY_REDIRECTS: (host) => `too many redirects from ${host}`,
    SOCKS_CONNECTION_FAILED: (host) => `no connection to ${host}: private (BLOCK_PRIVATE_ADDRESSES), or out of reach`,
    UNSAFE_PORT: (host) => `the browser refuses the port of ${host}`,
  }),
)
const brokenOff = (host: string, code: string) => `connection closed by ${host} before the end of the answer (${code})`
/** For a document that is only partly received. */
export const explainBrokenOff = (errorText: string, url: string): string =>
  brokenOff(hostOf(url), errorText.replace(/^net::ERR_/, ''))
const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : url)

const CERTIFICATE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    DATE_INVALID: 'the certificate has expired',
    AUTHORITY_INVALID: 'self-signed certificate, or one from an untrusted issuer',
    COMMON_NAME_INVALID: "the name does not match the certificate's names",
  }),
)

/** The reason for a navigation that failed with `errorText` (`net::ERR_...`), in one line with the name of the host. */
export function explainNavigation(errorText: string, url: string): AppError {
  const code = errorText.replace(/^net::ERR_/, '')
  const host = hostOf(url)
  const line = LINES.get(code)
  if (line) return new AppError(line(host))
  if (code.startsWith('CERT_')) {
    const reason = CERTIFICATE.get(code.slice('CERT_'.length)) ?? code
    return new AppError(`TLS problem with ${host}: ${reason} (CHECK_SSL_VALIDITY)`)
  }
  if (code.startsWith('SSL_')) return new AppError(`TLS problem with ${host}: ${code}`)
  if (code.startsWith('HTTP2_')) return new AppError(brokenOff(host, code))
  return new AppError(`the browser cannot show ${host}: ${code}`)
}
