import { failpoint } from '../base/failpoint.ts'
import { shownCommand } from '../base/shown-command.ts'
import type { Home } from '../db/home.ts'
import { insertStarting, markEnded, markRunning } from '../db/processes.ts'
import { MARKER } from '../processes/family.ts'
import { ownIdentity } from '../processes/identity.ts'

/** This runner's row. */
export interface Registered {
  readonly id: string
  /** Its place in the database's order of registrations: a higher one is newer. */
  readonly seq: number
}

/** Writes our row as a runner that waits at the gate, and puts our marker into the environment that children inherit. */
export async function register(options: {
  id: string
  home: Home
  parentId: string | null
  crawlId: string | undefined
}): Promise<Registered> {
  const { home } = options
  const row = await insertStarting(home, {
    id: options.id,
    processType: 'orchestrator',
    workerType: 'runner_waiting',
    parentId: options.parentId,
    runnerId: null,
    pwd: home.dataDir,
    cmd: shownCommand(process.argv),
    crawlId: options.crawlId ?? null,
  })
  await failpoint('registration.row_written')
  await markRunning(home.db, row.id, await ownIdentity())
  await failpoint('registration.identity_written')
  process.env[MARKER.process] = row.id
  process.env[MARKER.runner] = row.id
  return row
}

/** Closes our row: the last thing that a runner does. A database that is gone does not keep us: the next runner closes it. */
export async function deregister(home: Home, me: Registered, code: number): Promise<void> {
  await markEnded(home.db, me.id, { code, signal: null }).catch(() => {})
  await failpoint('shutdown.row_closed')
}
