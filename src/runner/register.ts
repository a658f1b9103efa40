import { AppError } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { shownCommand } from '../base/shown-command.ts'
import { newestSchema, refuseNewerSchema } from '../db/migrate.ts'
import { isAskedToDrain } from '../db/nodes.ts'
import { registerRunner } from '../db/processes.ts'
import type { Place } from '../db/runners.ts'
import { startedUnder } from '../processes/ancestry.ts'
import { ownIdentity } from '../processes/identity.ts'
import { MARKER } from '../processes/marks.ts'
import type { RunOptions } from './options.ts'

/**
 * Writes our row as a runner that waits, and puts our mark into the environment that children inherit. When it is
 * repeated, because the database was away or our row was closed or deleted, it updates the row to what we do from now
 * on: nobody may wait for a leader that only stands by. Throws AppError when a newer program has changed the database
 * since we opened it.
 * @param standby we begin as a standby, which no other runner minds
 * @returns undefined when a newer runner has led since, which had good reason to close the row of one that takes over
 */
export async function register(options: RunOptions, standby: boolean): Promise<Place | undefined> {
  const { home, id, parentId, crawlId, scope } = options
  const me = await registerRunner(
    home,
    {
      id,
      processType: 'orchestrator',
      workerType: 'runner_waiting',
      parentId,
      runnerId: null,
      pwd: home.dataDir,
      cmd: shownCommand(process.argv),
      crawlId: crawlId ?? null,
      standby,
      scope,
      startedUnder: startedUnder(),
    },
    await ownIdentity(),
  )
  await failpoint('gate.registered')
  process.env[MARKER.process] = id
  process.env[MARKER.runner] = id
  // From here on a migration waits for us. A faster one may have changed the schema before.
  await refuseNewerSchema(home.db)
  if (await isAskedToDrain(home, newestSchema()))
    throw new AppError('a newer archivebox-ts waits to change the database, and for all older runners to end', {
      hint: 'install that version here, too, then start again',
    })
  return me
}
