import type { ConnectionOptions } from 'node:tls'
import pg from 'pg'
import { databaseUrl } from '../base/kinds.ts'
import { badUrl } from './trouble.ts'

/**
 * A database URL as `pg` must read it: `sslmode` means the same as for psql, where `require` encrypts but does not
 * verify the server. By itself `pg` takes it for `verify-full`, and prints a warning. Throws UsageError for anything
 * but a PostgreSQL URL.
 */
export function forPg(url: string): string {
  if (databaseUrl.read(url) === undefined) throw badUrl(url)
  const needsLibpq = /[?&]sslmode=(prefer|require|verify-ca)(&|$)/.test(url) && !url.includes('uselibpqcompat=')
  return needsLibpq ? `${url}&uselibpqcompat=true` : url
}

/**
 * The same for postgres.js, which reads no unix socket and few of libpq's parameters from a URL (3.4.9): the result of
 * `pg`'s parser.
 */
export function forPostgresJs(url: string) {
  const { host, port, user, password, database, ssl } = new pg.Client({ connectionString: forPg(url) })
  const pass = password ?? ''
  const encrypted = ssl as boolean | ConnectionOptions // Its declared type is too narrow.
  return {
    host,
    port,
    ...(user !== undefined && { user }),
    pass,
    ...(database !== undefined && { database }),
    ssl: encrypted === true ? {} : encrypted,
  }
}

/** Who can listen between us and the database, or answer in its place. */
export type WireSafety = 'local' | 'plain' | 'unverified' | 'verified'

/** How safe the wire of this URL is, by its host and `sslmode`, or PGHOST and PGSSLMODE. */
export function wireSafety(url: string): WireSafety {
  const { host, ssl } = new pg.Client({ connectionString: forPg(url) })
  if (/^(\/|localhost$|127\.|::1$)/.test(host)) return 'local'
  const tls = ssl as boolean | ConnectionOptions // Its declared type is too narrow.
  if (!tls) return 'plain'
  const isChecked = tls === true || (tls.rejectUnauthorized !== false && tls.checkServerIdentity === undefined)
  return isChecked ? 'verified' : 'unverified'
}

/** Whether two URLs lead to the same database, as the same account. */
export function isSamePlace(one: string, other: string): boolean {
  const place = (url: string) => {
    const { host, port, user, database } = new pg.Client({ connectionString: forPg(url) })
    return JSON.stringify([host, port, user, database])
  }
  return place(one) === place(other)
}
