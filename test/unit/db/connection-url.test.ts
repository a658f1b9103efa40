import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { forPg, forPostgresJs } from '../../../src/db/connection-url.ts'
import { urlOf } from '../../../src/db/embedded/address.ts'

const addressIn = (socketDir: string) => ({ socketDir, port: 5432, user: 'archivebox', database: 'archivebox' })

describe('the URL of a unix socket', () => {
  const dirs = ['/data/postgres', '/with space/postgres', '/with,comma', "/it's/100%20/ünï", '/a@b:c?d#e&f=g[h]']
  test.each(dirs)('leads pg and postgres.js to the socket in %s', (dir) => {
    const url = urlOf(addressIn(dir))
    const client = new pg.Client({ connectionString: url })
    expect([client.host, client.port, client.user, client.database, client.ssl]).toEqual([
      dir,
      5432,
      'archivebox',
      'archivebox',
      false,
    ])
    const { path, user, database, ssl } = postgres(forPostgresJs(url)).options as unknown as Record<string, unknown>
    expect({ path, user, database, ssl }).toEqual({
      path: `${dir}/.s.PGSQL.5432`,
      user: 'archivebox',
      database: 'archivebox',
      ssl: false,
    })
  })

  test('may be written with ?host= by a person, and postgres.js still gets there', () => {
    for (const url of [
      'postgres://me@/db?host=/run/pg&sslmode=disable',
      'postgresql://me@%2Frun%2Fpg/db',
      'postgres:///db?sslmode=disable&host=%2Frun%2Fpg',
    ]) {
      const { path, database, connection } = postgres(forPostgresJs(url)).options as unknown as Record<string, unknown>
      expect({ path, database }).toEqual({ path: '/run/pg/.s.PGSQL.5432', database: 'db' })
      expect(connection).not.toHaveProperty('host')
    }
  })

  test('of a host in the network says the same to both', () => {
    const url = 'postgres://me:p%40ss@db.example:5433/name'
    const { host, port, user, pass, database, ssl } = postgres(forPostgresJs(url)).options as unknown as Record<
      string,
      unknown
    >
    expect({ host, port, user, pass, database, ssl }).toEqual({
      host: ['db.example'],
      port: [5433],
      user: 'me',
      pass: 'p@ss',
      database: 'name',
      ssl: false,
    })
  })
})

describe('sslmode', () => {
  const unchecked = { rejectUnauthorized: false }
  test.each([
    ['disable', false],
    ['no-verify', unchecked],
    ['require', unchecked],
    ['verify-full', {}],
  ])('%s means the same to psql, pg and postgres.js', (mode, expected) => {
    const url = `postgres://me@db.example/name?sslmode=${mode}`
    expect(new pg.Client({ connectionString: forPg(url) }).ssl).toEqual(expected)
    expect((postgres(forPostgresJs(url)).options as unknown as { ssl: unknown }).ssl).toEqual(expected)
  })
})
