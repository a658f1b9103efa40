import { EXIT } from '../base/errors.ts'
import type { Log } from '../base/log.ts'

/**
 * Logs an uncaught error, and exits at once: it is a defect of ours, after which none of our state can be trusted. The
 * guardian ends our workers and hooks, and closes our rows.
 */
export function exitOnDefects(log: Log): void {
  const leave = (error: unknown) => {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
    log.error(`a defect of archivebox-ts, exiting at once: ${what}`, { event: 'runner.defect' })
    process.exit(EXIT.defect)
  }
  process.on('uncaughtException', leave)
  process.on('unhandledRejection', leave)
}
