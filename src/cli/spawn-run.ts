import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
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
  options: GlobalOptions,
  commandId: string,
  args: readonly string[],
  stderr: 'pipe' | 'inherit',
): ChildProcess {
  const json = options.json ? ['--json'] : []
  const stdio = ['ignore', 'ignore', stderr, 'ipc'] as const
  return spawnVerb(options, ['run', ...args, ...json], { [PARENT_ENV]: commandId }, [...stdio])
}

/** Starts a verb of this program, on the same data dir and database. */
export function spawnVerb(
  { dataDir, databaseUrlGiven, waitDb }: GlobalOptions,
  words: readonly string[],
  more: Readonly<Record<string, string>>,
  stdio: SpawnOptions['stdio'],
): ChildProcess {
  // Passed on whole: it reads its settings from it.
  const env = {
    ...FRUGAL_ENV,
    ...process.env,
    DATA_DIR: resolve(dataDir),
    ...(databaseUrlGiven ? { DATABASE_URL: databaseUrlGiven } : {}),
    ...(waitDb === undefined ? {} : { WAIT_DB: waitDb }),
    ...more,
  }
  return spawn(process.execPath, [asset('main.js', 'main.ts'), ...words], { env, stdio })
}
