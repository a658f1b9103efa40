import { join } from 'node:path'

/** The log file of a data dir's guardians. */
export function guardianLog(dataDir: string): string {
  return join(dataDir, 'logs', 'guardian.log')
}
