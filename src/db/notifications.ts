import postgres from 'postgres'
import { sleep } from '../base/abort.ts'
import { backoff } from '../base/backoff.ts'
import { own } from '../base/own.ts'
import { forPostgresJs } from './connection-url.ts'
import { applicationName } from './database.ts'

/** New work, and news between runners. Payloads are empty: a notification tells that something changed, not what. */
export const CHANNELS = { work: 'archivebox_work', runner: 'archivebox_runner' } as const

/** How often the listening connection is checked; how long connecting and each answer may take. */
const PING_MS = 10_000
const ANSWER_MS = 5_000
const LONGEST_PAUSE_MS = 10_000

/**
 * Calls back on each notification, and once after each (re)connection, since some may have been missed. A cut
 * connection is replaced at once, a silent (half-open) one within 15 s. The caller must poll as well, so a listener
 * that cannot connect, or is blocked by a pooler, only costs time.
 */
export function listen(
  url: string,
  runnerId: string,
  channels: Readonly<Record<string, () => void>>,
): { close(): Promise<void> } {
  const closing = new AbortController()
  const kept = keepListening(url, runnerId, channels, closing.signal)
  return {
    close: async () => {
      closing.abort()
      await kept
    },
  }
}

async function keepListening(
  url: string,
  runnerId: string,
  channels: Readonly<Record<string, () => void>>,
  closing: AbortSignal,
): Promise<void> {
  for (let tries = 0; !closing.aborted; tries += 1) {
    const broken = new AbortController()
    const client = connect(url, runnerId, channels, () => broken.abort())
    const over = AbortSignal.any([closing, broken.signal])
    try {
      // As one text without parameters, it may hold several statements.
      await inTime(client.unsafe(Object.keys(channels).map(listenTo).join(';')), over)
      tries = 0
      for (const onNews of Object.values(channels)) onNews()
      while (!over.aborted) {
        await sleep(PING_MS, over)
        if (over.aborted) break
        const [answer] = await inTime(
          client<[{ heard: number }]>`select count(*)::int as heard from pg_listening_channels()`,
          over,
        )
        if (answer?.heard !== Object.keys(channels).length) break // Behind a pooler it may be another session by now.
      }
    } catch {
      // The caller polls.
    }
    await client.end({ timeout: 0 }).catch(() => {})
    await sleep(backoff(tries + 1, { baseMs: 100, maxMs: LONGEST_PAUSE_MS }), closing)
  }
}

const listenTo = (channel: string) => `listen ${channel}`

/**
 * One connection. `onnotify` is what the driver's own listen() is based on; that one offers no way to query on the same
 * connection.
 */
function connect(
  url: string,
  runnerId: string,
  channels: Readonly<Record<string, () => void>>,
  onclose: () => void,
): postgres.Sql {
  const options = {
    ...forPostgresJs(url),
    max: 1,
    fetch_types: false,
    prepare: false,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: ANSWER_MS / 1000,
    connection: { application_name: applicationName('listen', runnerId) },
    onnotice: () => {},
    onclose,
    onnotify: (channel: string) => own(channels, channel)?.(),
  }
  return postgres(options)
}

/** The answer, or an error when it takes too long or the connection breaks. */
async function inTime<T>(answer: PromiseLike<T>, over: AbortSignal): Promise<T> {
  const late = new AbortController()
  const deadline = sleep(ANSWER_MS, AbortSignal.any([over, late.signal])).then(() => {
    throw new Error('no answer')
  })
  try {
    return await Promise.race([answer, deadline])
  } finally {
    deadline.catch(() => {})
    late.abort()
  }
}
