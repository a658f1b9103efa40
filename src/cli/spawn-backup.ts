import type { ChildProcess } from 'node:child_process'
import { MARKER } from '../processes/marks.ts'
import type { GlobalOptions } from './options.ts'
import { spawnVerb } from './spawn-run.ts'

/** The row of a scheduled backup, for the process that makes it. Not a setting: nobody else may set it. */
const BACKUP_ENV = 'ARCHIVEBOX_SCHEDULED_BACKUP'

/** The row of the backup that the schedule had us make; undefined: somebody makes it by hand. */
export const scheduledBackup = (): string | undefined => process.env[BACKUP_ENV]

/**
 * Starts the process that makes a scheduled backup. It carries its runner's marks: whoever ends what a killed runner
 * left behind ends it, too.
 */
export function spawnBackup(
  options: GlobalOptions,
  runnerId: string,
  { id, file }: { readonly id: string; readonly file: string },
): ChildProcess {
  const marks = { [MARKER.runner]: runnerId, [MARKER.process]: runnerId, [BACKUP_ENV]: id }
  return spawnVerb(options, ['backup', '--quiet', file], marks, 'ignore')
}
