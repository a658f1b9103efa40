import { UsageError } from '../../base/errors.ts'

/** Headers by host, as written: `example.com`, or `example.com:8080` for one port. */
export type HostHeaders = ReadonlyMap<string, Readonly<Record<string, string>>>

const IN_QUOTES = 'a host stands in quotes: [headers."example.com"]'

/** Reads the `[headers."HOST"]` tables of a persona.toml. Throws UsageError, which quotes no value. */
export function headersIn(given: unknown, file: string): HostHeaders {
  const wrong = (where: string, why: string) => new UsageError(`${file}, ${where}: ${why}`)
  if (!isTable(given ?? {})) throw wrong('headers', 'headers belong in tables, one per host: [headers."example.com"]')
  const hosts = Object.entries((given ?? {}) as object).map(([host, table]: [string, unknown]) => {
    const isHost = URL.parse(`http://${host}/`)?.host === host.toLowerCase()
    if (!isHost) throw wrong(`headers."${host}"`, 'not a host: write example.com, or example.com:8080')
    if (!isTable(table)) throw wrong(`headers.${host}`, IN_QUOTES)
    const named = Object.entries(table).map(([name, value]) => {
      if (isTable(value)) throw wrong(`headers.${host}`, IN_QUOTES)
      if (!NAME.test(name)) throw wrong(`headers."${host}"`, `${name} is not a valid header name`)
      if (!VALUE.test(String(value))) throw wrong(`headers."${host}"`, `${name} has an invalid value`)
      return [name.toLowerCase(), String(value)] as const
    })
    return [host.toLowerCase(), Object.fromEntries(named)] as const
  })
  return new Map(hosts)
}

const NAME = /^[!#$%&'*+.^_`|~\w-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The headers that are sent to a URL, by lower-case name: only those of its host. */
export function headersFor(headers: HostHeaders, url: URL): Readonly<Record<string, string>> {
  return { ...headers.get(url.hostname), ...headers.get(url.host) }
}

/** The names of all headers, in lower case. */
export function headerNames(headers: HostHeaders): ReadonlySet<string> {
  return new Set([...headers.values()].flatMap((fields) => Object.keys(fields)))
}
