import { Socket } from 'node:net'
import pg from 'pg'
import { codeOf } from '../base/errors.ts'

export interface ClientOptions {
  /** Milliseconds after which a statement counts as lost and ends its connection; Infinity: never. */
  readonly statementMs: number
  /** Keep each statement prepared on its connection. */
  readonly prepare: boolean
}

/** A connection that cannot hang on an unresponsive server. */
export interface BoundedClient extends pg.Client {
  /** Its server has become read-only: a new connection may lead to the new primary. */
  readonly spoiled: boolean
}

/**
 * The `pg` client with a deadline for each statement. A late statement ends its connection, since nobody knows what
 * will still arrive on it; only on the client's side, so that no session setting gets in the way of a pooler.
 */
export function boundedClient({
  statementMs,
  prepare,
}: ClientOptions): new (
  config?: pg.ClientConfig,
) => BoundedClient {
  return class extends pg.Client {
    spoiled = false

    constructor(config: pg.ClientConfig = {}) {
      const socket = new Socket()
      super({ ...config, stream: () => socket })
      socket.once('data', (bytes) => {
        if (!POSTGRES_SPEAKS.test(bytes.toString('latin1', 0, 1))) socket.destroy(new NotPostgres())
      })
      const query = this.query.bind(this) as (...args: unknown[]) => Promise<unknown>
      let plannedAt = process.uptime()
      // Of the many signatures of pg's query(), the one that kysely uses. A text without values may contain many
      // statements.
      const bounded = async (text: string, values: unknown[] = []) => {
        const late = Number.isFinite(statementMs)
          ? setTimeout(() => socket.destroy(new TooLate(statementMs)), statementMs)
          : undefined
        if (prepare && process.uptime() - plannedAt > PLANS_SECONDS) {
          plannedAt = process.uptime()
          // Ahead of what follows, in the same queue: a broken connection shows there.
          query('discard plans').catch(() => {})
        }
        try {
          return await (prepare && values.length > 0
            ? query({ name: statementName(text), text, values })
            : query(text, values))
        } catch (error) {
          if (codeOf(error) === '25006') this.spoiled = true
          throw error
        } finally {
          clearTimeout(late)
        }
      }
      this.query = bounded as typeof this.query
    }
  }
}

/**
 * How long a prepared statement keeps its plan. A plan that was made while the tables were empty reads them from end to
 * end when they are large; making all of them again costs milliseconds. (By the uptime: `performance` is loaded on
 * first use, a millisecond of each start.)
 */
const PLANS_SECONDS = 10
/** How a server's first message can begin: authentication, an error, yes or no to TLS, another protocol version. */
const POSTGRES_SPEAKS = /[RESNv]/

/** Something other than PostgreSQL listens there, such as a web server. */
class NotPostgres extends Error {
  constructor() {
    super('what answers there is no PostgreSQL server')
  }
}

/** Whether something other than PostgreSQL answered. */
export const isNotPostgres = (error: unknown): boolean => error instanceof NotPostgres

class TooLate extends Error {
  readonly code = 'ETIMEDOUT'
  constructor(ms: number) {
    super(`the database did not answer within ${ms / 1000} s`)
  }
}

/** Whether a statement exceeded its time. */
export const isTooLate = (error: unknown): boolean => error instanceof TooLate

const names = new Map<string, string>()

/** Each text has its own name in this process, so that the server parses and plans it once per connection. */
function statementName(text: string): string {
  const name = names.get(text) ?? `s${names.size}`
  names.set(text, name)
  return name
}
