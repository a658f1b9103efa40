import type { Client } from 'pg'
import { DATABASE, type ServerAddress } from './address.ts'

/** Connects to `database`, does `work`, disconnects. Throws the driver's error. */
async function withClient<T>(address: ServerAddress, database: string, work: (client: Client) => Promise<T>): Promise<T> {
  const { default: pg } = await import('pg')
  const { socketDir: host, port, user } = address
  const client = new pg.Client({
    host,
    port,
    user,
    database,
    ssl: false,
    application_name: 'archivebox-ts server',
    connectionTimeoutMillis: 10_000,
  })
  // A server that goes away under an idle connection is reported by the next query, not by an event that ends the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/**
 * Proves that the server takes our connections, and makes our database when it is not there yet (a kill may have come between).
 * initdb's empty `postgres` becomes it: a rename takes a millisecond, a new database a fifth of a second.
 */
export function ensureDatabase(address: ServerAddress): Promise<void> {
  return withClient(address, 'template1', async (client) => {
    const { rows } = await client.query<{ datname: string }>(`select datname from pg_database where datname in ('${DATABASE}', 'postgres')`)
    const names = rows.map((row) => row.datname)
    if (names.includes(DATABASE)) return
    await client.query(names.includes('postgres') ? `alter database postgres rename to ${DATABASE}` : `create database ${DATABASE}`)
  })
}

/** How many clients are connected, ourselves not counted. */
export function countClients(address: ServerAddress): Promise<number> {
  return withClient(address, DATABASE, async (client) => {
    const { rows } = await client.query<{ clients: number }>(
      `select count(*)::int as clients from pg_stat_activity
        where backend_type in ('client backend', 'walsender') and pid <> pg_backend_pid()`,
    )
    return rows[0]!.clients
  })
}
