import { join } from 'node:path'

/** Where a guardian says what it did: nobody else is left to tell. */
export function guardianLog(dataDir: string): string {
  return join(dataDir, 'logs', 'guardian.log')
}
