import { join } from 'node:path'

/** Where a watchdog says what it did: nobody else is left to tell. */
export function watchdogLog(dataDir: string): string {
  return join(dataDir, 'logs', 'watchdog.log')
}
