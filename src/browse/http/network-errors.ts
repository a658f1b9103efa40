import { AppError, codeOf, messageOf } from '../../base/errors.ts'

const LINES: ReadonlyMap<string, (host: string) => string> = new Map(
  Object.entries({
    ECONNREFUSED: (host) => `connection refused by ${host}`,
    ECONNRESET: (host) => `connection reset by ${host}`,
    EPIPE: (host) => `connection reset by ${host}`,
    ENOTFOUND: (host) => `host not found: ${host}`,
    EAI_AGAIN: (host) => `name lookup failed for ${host} (no network, or a name server that does not answer)`,
    ETIMEDOUT: (host) => `connection to ${host} timed out`,
    EHOSTUNREACH: (host) => `host unreachable: ${host}`,
    ENETUNREACH: (host) => `network unreachable: ${host}`,
    EADDRNOTAVAIL: (host) => `address not reachable from here: ${host}`,
    HPE_HEADER_OVERFLOW: (host) => `the headers from ${host} are too large`,
    ERR_INVALID_URL: (host) => `not a valid URL: ${host}`,
  }),
)

const TLS = /^(?:ERR_TLS|ERR_SSL|CERT_|EPROTO|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH)/
const CERTIFICATE = /^(?:ERR_TLS_CERT_|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH)/

/** Explains a failed request to `url`, in one plain line with the name of the host. Returns AppErrors unchanged. */
export function explain(error: unknown, url: URL): AppError {
  if (error instanceof AppError) return error
  const code = codeOf(error) ?? ''
  const line = LINES.get(code)
  if (line) return new AppError(line(url.host), { cause: error })
  if (code.startsWith('ERR_HTTP2')) return new AppError(brokenOff(url, error), { cause: error })
  if (TLS.test(code)) {
    const setting = CERTIFICATE.test(code) ? ' (CHECK_SSL_VALIDITY)' : ''
    const reason = tlsReason(code, messageOf(error))
    return new AppError(`TLS problem with ${url.host}: ${reason}${setting}`, { cause: error })
  }
  if (code.startsWith('HPE_')) return new AppError(`${url.host} does not answer in HTTP (${code})`, { cause: error })
  return new AppError(`request to ${url.host} failed: ${messageOf(error)}`, { cause: error })
}

/** Whether a server refuses the only protocol that it was offered. */
export const refusesHttp1 = (error: unknown): boolean => /no.application.protocol/i.test(messageOf(error))

/** Includes the reason in HTTP/2, as in `... (INTERNAL_ERROR)` (RFC 9113, 7). */
function brokenOff({ host }: URL, error: unknown): string {
  const reason = /NGHTTP2_(\w+)/.exec(messageOf(error))?.[1] ?? messageOf(error)
  return `connection closed by ${host} before the end of the answer (${reason})`
}

/** Explains why a body broke off or cannot be decoded. */
export function explainBody(error: unknown, url: URL): AppError {
  const code = codeOf(error) ?? ''
  if (code === 'ECONNRESET')
    return new AppError(`connection closed by ${url.host} before the end of the body`, { cause: error })
  if (code.startsWith('ERR_HTTP2')) return explain(error, url)
  if (code.startsWith('HPE_')) return new AppError(`damaged transfer from ${url.host} (${code})`, { cause: error })
  if (code === 'Z_BUF_ERROR')
    return new AppError(`${url.host} did not send the end of the compressed body`, { cause: error })
  if (/^(?:Z_|ERR_|ZSTD_)/.test(code))
    return new AppError(`damaged compressed body from ${url.host} (${code})`, { cause: error })
  return explain(error, url)
}

function tlsReason(code: string, message: string): string {
  // OpenSSL's messages contain a thread id and source lines, Node's a hint for programmers: users need only the reason.
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) return /:([^:]+):[^:]*:\d+:\s*$/.exec(message)?.[1] ?? code
  return message.split(';')[0]!
}
