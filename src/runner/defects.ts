import { EXIT } from '../base/errors.ts'
import type { Log } from '../base/log.ts'

/**
 * What nobody caught is a defect of ours, after which nothing that we know can be trusted: it is logged, and we leave
 * at once. The guardian ends our workers and hooks, and closes our rows.
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
