import { EXIT } from '../base/errors.ts'
import type { Log } from '../base/log.ts'

/**
 * Logs an error that nobody caught, and leaves at once: it is a defect of ours, after which we can trust nothing that
 * we know. The guardian ends our workers and hooks, and closes our rows.
 */
export function exitOnDefects(log: Log): void {
  const leave = (error: unknown) => {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
    log.error(`a defect of archivebox-ts, leaving at once: ${what}`)
    process.exit(EXIT.defect)
  }
  process.on('uncaughtException', leave)
  process.on('unhandledRejection', leave)
}
