import type { ConnectionOptions } from 'node:tls'
import pg from 'pg'
import { badUrl } from './trouble.ts'

/**
 * A database URL as `pg` shall read it: `sslmode` means what it means to psql, where `require` encrypts and does not
 * ask who answers. By itself `pg` takes it for `verify-full`, and prints a warning about that. Throws UsageError for
 * what is no PostgreSQL URL.
 */
export function forPg(url: string): string {
  if (!/^postgres(ql)?:\/\/./.test(url)) throw badUrl(url)
  const needsLibpq = /[?&]sslmode=(prefer|require|verify-ca)(&|$)/.test(url) && !url.includes('uselibpqcompat=')
  return needsLibpq ? `${url}&uselibpqcompat=true` : url
}

/**
 * The same for postgres.js, which reads no unix socket and few of libpq's parameters out of a URL (3.4.9): what `pg`
 * makes of it.
 */
export function forPostgresJs(url: string) {
  const { host, port, user, password, database, ssl } = new pg.Client({ connectionString: forPg(url) })
  const pass = password ?? ''
  const encrypted = ssl as boolean | ConnectionOptions // It is declared as what it is for most.
  return {
    host,
    port,
    ...(user !== undefined && { user }),
    pass,
    ...(database !== undefined && { database }),
    ssl: encrypted === true ? {} : encrypted,
  }
}
