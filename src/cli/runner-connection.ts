import { applicationName, type DatabaseOptions, STATEMENT_MS } from '../db/database.ts'

/** The loop, the heartbeat, the reaping of workers, and side tasks do not wait for each other. */
const CONNECTIONS = 5

/** How the runner with this row connects. */
export function runnerConnection(id: string): DatabaseOptions {
  return { name: applicationName('runner', id), connections: CONNECTIONS, statementMs: STATEMENT_MS }
}
