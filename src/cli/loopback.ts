import { UsageError } from '../base/errors.ts'

/** An address of this machine. */
export interface Loopback {
  readonly host: string
  readonly port: number
}

const LOOPBACK = ['127.0.0.1', 'localhost', '::1']

/**
 * Parses the address that an option gives to listen on. Throws UsageError when it is invalid, or reachable from other
 * machines.
 * @param option as typed: `--listen`
 * @param example of its value
 * @param why nobody else may reach it, and what to do instead
 */
export function loopbackOf(
  option: string,
  text: string,
  { example, why, hint }: { readonly example: string; readonly why: string; readonly hint: string },
): Loopback {
  const [, ipv6, name, port = ''] = /^(?:\[([^[\]]+)\]:|([^[\]:]*):)?(\d+)$/.exec(text) ?? []
  const host = ipv6 ?? name ?? ''
  const number = Number(port)
  if (port === '' || number > 65_535) throw new UsageError(`${option} ${text}: it takes HOST:PORT, as ${example}`)
  if (host !== '' && !LOOPBACK.includes(host)) throw new UsageError(`${option} ${text}: ${why}`, hint)
  return { host: host === '' || host === 'localhost' ? '127.0.0.1' : host, port: number }
}
