import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { asset } from '../base/package-root.ts'
import { FRUGAL_ENV } from '../base/start/frugal.ts'
import { PARENT_ENV } from './cues.ts'
import type { GlobalOptions } from './options.ts'

/**
 * Starts `run` below a command, on its data dir and database. The channel tells it when the command ends, however that
 * happens.
 * @param commandId the command's row
 */
export function spawnRun(
  { dataDir, json, databaseUrlGiven, waitDb }: GlobalOptions,
  commandId: string,
  args: readonly string[],
  stderr: 'pipe' | 'inherit',
): ChildProcess {
  // Passed on whole: the runner reads its settings from it.
  const env = {
    ...FRUGAL_ENV,
    ...process.env,
    DATA_DIR: resolve(dataDir),
    [PARENT_ENV]: commandId,
    ...(databaseUrlGiven ? { DATABASE_URL: databaseUrlGiven } : {}),
    ...(waitDb === undefined ? {} : { WAIT_DB: waitDb }),
  }
  const all = [asset('main.js', 'main.ts'), 'run', ...args, ...(json ? ['--json'] : [])]
  return spawn(process.execPath, all, { env, stdio: ['ignore', 'ignore', stderr, 'ipc'] })
}
