import postgres from 'postgres'
import { applicationName } from './database.ts'
import { forPostgresJs } from './embedded/address.ts'

/** New work, and news between runners. Payloads are empty: a notification says "look", never "what". */
export const CHANNELS = { work: 'archivebox_work', runner: 'archivebox_runner' } as const

/**
 * Calls back on each notification, and once after each (re)connection, since some may have been missed. postgres.js re-subscribes by itself
 * when the connection is lost; whoever listens must poll as well, so a listener that cannot connect only costs time.
 */
export function listen(url: string, runnerId: string, channels: Readonly<Record<string, () => void>>): { close(): Promise<void> } {
  const [address, socket] = forPostgresJs(url)
  const client = postgres(address, {
    ...socket,
    max: 1,
    fetch_types: false,
    prepare: false,
    idle_timeout: 0,
    max_lifetime: null,
    connection: { application_name: applicationName('listen', runnerId) },
    onnotice: () => {},
  })
  for (const [channel, onNews] of Object.entries(channels)) client.listen(channel, onNews, onNews).catch(() => {})
  return { close: () => client.end({ timeout: 1 }).catch(() => {}) }
}
