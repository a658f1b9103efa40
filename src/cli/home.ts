import { join } from 'node:path'
import type { Archive } from '../app/archive.ts'
import { type BareDatabase, openBareDatabase } from '../app/open/bare-database.ts'
import { type OpenInput, openArchive } from '../app/open/open-archive.ts'
import { AppError, EXIT, UsageError } from '../base/errors.ts'
import { uuidv7 } from '../base/ids.ts'
import { shownCommand } from '../base/shown-command.ts'
import { heartbeatWhileWaiting } from '../db/heartbeats.ts'
import type { Home } from '../db/home.ts'
import { type NewRow, runningRow } from '../db/new-process.ts'
import { insertRunning, markEnded } from '../db/processes.ts'
import type { ProcessType } from '../db/tables.ts'
import { explainDatabaseError } from '../db/trouble.ts'
import { ownIdentity } from '../processes/identity.ts'
import { startedBy } from '../processes/presence.ts'
import { preparing } from './interrupts.ts'
import { sayMeanwhile } from './meanwhile.ts'
import type { GlobalOptions } from './options.ts'

/** Opens a data dir, and reports what that waits for. A signal ends the wait in an orderly way. */
export async function openHome(
  options: GlobalOptions,
  create: OpenInput['create'],
  how: Omit<OpenInput, 'create'> = {},
): Promise<Archive> {
  const input = { create, ...how }
  return await preparing(
    async (signal) => await openArchive(options, input, { signal, tell: sayMeanwhile }),
    (open) => open.close(),
  )
}

/** Opens an existing data dir while `work` runs. */
export async function withHome<T>(
  options: GlobalOptions,
  work: (home: Home, archive: Archive) => Promise<T>,
): Promise<T> {
  const open = await openHome(options, 'never')
  try {
    return await work(open.home, open)
  } finally {
    await open.close()
  }
}

/** Opens the database of a data dir while `work` runs, whatever its schema. */
export async function withBareDatabase<T>(
  options: GlobalOptions,
  create: 'never' | 'if-empty',
  work: (bare: BareDatabase) => Promise<T>,
): Promise<T> {
  const bare = await preparing(
    (signal) => openBareDatabase(options, create, { signal, tell: sayMeanwhile }),
    (open) => open.close(),
  )
  try {
    return await work(bare)
  } catch (error) {
    throw explainDatabaseError(error, bare.url)
  } finally {
    await bare.close()
  }
}

/**
 * Runs a command as a registered process: its row exists while it works, and has its exit code afterwards: the number
 * that `work` returns, if any.
 */
export async function asProcess<T>(
  home: Home,
  processType: ProcessType,
  work: () => Promise<T>,
  id = uuidv7(),
): Promise<T> {
  const registered = async (row: NewRow) => {
    await insertRunning(home, row)
    return await work()
  }
  return await asProcessOf(home, processType, registered, id)
}

/** The same, for `work` that writes the process's row together with its first rows. */
export async function asProcessOf<T>(
  home: Home,
  processType: ProcessType,
  work: (row: NewRow) => Promise<T>,
  id = uuidv7(),
): Promise<T> {
  const parentId = await startedBy(home)
  const cmd = shownCommand(process.argv)
  const values = { id, processType, parentId, runnerId: null, pwd: home.dataDir, cmd }
  const row = runningRow(home, values, await ownIdentity())
  // For those who cannot see this process: they do not wait for one that stands still.
  const endBeating = heartbeatWhileWaiting(home.db, id)
  let code: number = EXIT.failed
  try {
    const value = await work(row)
    code = typeof value === 'number' ? value : EXIT.ok
    return value
  } catch (error) {
    if (error instanceof AppError) code = error.exitCode
    throw error
  } finally {
    endBeating()
    await markEnded(home.db, id, { code, signal: null }).catch(() => {})
  }
}

/**
 * Throws UsageError when a hook of this data dir's runner started us. As a newer runner we would end the one that the
 * hook works for; its page would then run again, and start us again.
 */
export async function refuseBelowRunner(home: Home): Promise<void> {
  if ((await startedBy(home)) === null) return
  throw new UsageError(
    'a hook cannot be the runner: it would end the runner that it works for',
    'archivebox-ts add, without --run, queues for it',
  )
}

/** The log of runners and workers. */
export function runnerLog(dataDir: string): string {
  return join(dataDir, 'logs', 'runner.log')
}
