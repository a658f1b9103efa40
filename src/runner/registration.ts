import { sql } from 'kysely'
import { failpoint } from '../base/failpoint.ts'
import { shownCommand } from '../base/shown-command.ts'
import type { Home } from '../db/home.ts'
import { repeatable } from '../db/patience.ts'
import { insertRunning, markEnded } from '../db/processes.ts'
import { startedUnder } from '../processes/ancestry.ts'
import { MARKER } from '../processes/family.ts'
import { ownIdentity } from '../processes/identity.ts'

/** This runner's row. */
export interface Registered {
  readonly id: string
  /** Its place in the database's order of registrations: a higher one is newer. */
  readonly seq: number
}

/**
 * Writes our row as a runner that waits, and puts our marker into the environment that children inherit. Done again, after the database was
 * away, it leaves a row that is there as it is; one that somebody closed is opened again, as long as no newer runner came to lead.
 * @returns null when one did
 */
export async function register(options: {
  id: string
  home: Home
  parentId: string | null
  crawlId: string | undefined
  standby: boolean
}): Promise<Registered | null> {
  const { home } = options
  const row = await insertRunning(
    home,
    {
      id: options.id,
      processType: 'orchestrator',
      workerType: 'runner_waiting',
      parentId: options.parentId,
      runnerId: null,
      pwd: home.dataDir,
      cmd: shownCommand(process.argv),
      crawlId: options.crawlId ?? null,
      standby: options.standby,
      startedUnder: startedUnder(),
    },
    await ownIdentity(),
  )
  await failpoint('registration.row_written')
  if ((row.status === 'exited' || row.status === 'lost') && !(await reopen(home, row))) return null
  process.env[MARKER.process] = row.id
  process.env[MARKER.runner] = row.id
  return row
}

/** We are there, whatever our row says. False: a newer runner has led since, which had good reason to close it. */
async function reopen({ db, dataDirId }: Home, { id, seq }: Registered): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update process set status = 'running', worker_type = 'runner_waiting', heartbeat_at = now(), ended_at = null, exit_code = null, exit_signal = null
    where id = ${id} and status in ('exited', 'lost') and not exists (
      select from process newer where newer.data_dir_id = ${dataDirId} and newer.seq > ${seq} and newer.promoted_at is not null)`.execute(
    db,
  )
  await failpoint('registration.row_reopened')
  return numAffectedRows === 1n
}

/** We stand by, or go to the gate: only there do newer runners mind us, and we older ones. */
export async function setStandby(home: Home, me: Registered, standby: boolean): Promise<void> {
  const update = sql`update process set standby = ${standby} where id = ${me.id} and status = 'running'`
  await repeatable(home.db, () => update.execute(home.db))
}

/**
 * After a lead that ended in order: from now on we only stand by, and whoever waits for us to go may stop waiting.
 * False: our row was closed meanwhile, since somebody took us for dead.
 */
export async function stepBack(home: Home, me: Registered): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update process set status = 'running', worker_type = 'runner_waiting', standby = true, handoff_requested_by = null, handoff_grace_s = null
    where id = ${me.id} and status in ('running', 'draining')`.execute(home.db)
  await failpoint('shutdown.stepped_back')
  return numAffectedRows === 1n
}

const SEEN_MS = 10_000

/** Keeps our row fresh while we wait, for runners that cannot see our process. Returns the way to stop it. */
export function keepSeen(home: Home, me: Registered): () => void {
  const beat = () =>
    sql`update process set heartbeat_at = now() where id = ${me.id} and status = 'running'`.execute(home.db).catch(() => {})
  const timer = setInterval(() => void beat(), SEEN_MS)
  return () => clearInterval(timer)
}

/** Closes our row: the last thing that a runner does. A database that is gone does not keep us: the next runner closes it. */
export async function deregister({ home, id }: { readonly home: Home; readonly id: string }, code: number): Promise<void> {
  await markEnded(home.db, id, { code, signal: null }).catch(() => {})
  await failpoint('shutdown.row_closed')
}
