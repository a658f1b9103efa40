import { join } from 'node:path'

/** Where a guardian logs what it did. */
export function guardianLog(dataDir: string): string {
  return join(dataDir, 'logs', 'guardian.log')
}
