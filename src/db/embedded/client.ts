import type { Client } from 'pg'
import type { ServerAddress } from './address.ts'

/** Connects, does `work`, disconnects. Throws the driver's error. */
async function withClient<T>(address: ServerAddress, work: (client: Client) => Promise<T>): Promise<T> {
  const { default: pg } = await import('pg')
  const { socketDir: host, port, user, database } = address
  const client = new pg.Client({
    host,
    port,
    user,
    database,
    ssl: false,
    application_name: 'archivebox-ts server',
    connectionTimeoutMillis: 10_000,
  })
  // A server that goes away under an idle connection is reported by the next query, not by an event that ends the
  // process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Proves that the server accepts our connections; throws the driver's error when it does not. */
export function greet(address: ServerAddress): Promise<void> {
  return withClient(address, async () => undefined)
}

/** How many clients are connected, ourselves not counted. */
export function countClients(address: ServerAddress): Promise<number> {
  return withClient(address, async (client) => {
    const { rows } = await client.query<{ clients: number }>(
      `select count(*)::int as clients from pg_stat_activity
        where backend_type in ('client backend', 'walsender') and pid <> pg_backend_pid()`,
    )
    return rows[0]!.clients
  })
}
