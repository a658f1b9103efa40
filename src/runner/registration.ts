import { sql } from 'kysely'
import { sleep } from '../base/abort.ts'
import { failpoint } from '../base/failpoint.ts'
import { shownCommand } from '../base/shown-command.ts'
import type { Home } from '../db/home.ts'
import { markEnded, registerRunner } from '../db/processes.ts'
import { withRetry } from '../db/retry.ts'
import type { WorkScope } from '../machines/scope.ts'
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
 * away or our row was closed or deleted, it makes the row say what we do from now on: nobody may wait for a leader that only stands by.
 * @returns undefined when a newer runner has led since, which had good reason to close the row of one that takes over
 */
export async function register(options: {
  id: string
  home: Home
  parentId: string | null
  crawlId: string | undefined
  scope: WorkScope
  standby: boolean
}): Promise<Registered | undefined> {
  const { home, id, parentId, crawlId, scope, standby } = options
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
  await failpoint('registration.row_written')
  process.env[MARKER.process] = id
  process.env[MARKER.runner] = id
  return me
}

/**
 * We go to the gate: only there do newer runners mind us, and we older ones.
 * @param asNewest take a new place in line, before somebody newer that has fallen silent
 */
export async function goToGate(home: Home, me: Registered, asNewest: boolean): Promise<Registered> {
  const update = sql<{ seq: number }>`
    update process set standby = false${asNewest ? sql`, seq = default` : sql``} where id = ${me.id} and status = 'running'
    returning seq`
  const { rows } = await withRetry(home.db, () => update.execute(home.db))
  return { id: me.id, seq: rows[0]?.seq ?? me.seq } // No row: our heartbeat notices that it was closed.
}

/** What was asked of a runner that has stepped back. */
interface Demoted {
  /** A SIGTERM of the newer runner follows, or has come. */
  readonly handoffSignal: boolean
}

/**
 * After a lead that ended in order, or an attempt at it: from now on we only stand by, and whoever waits for us to go may stop waiting.
 * Undefined: our row was closed meanwhile, since somebody took us for dead.
 */
export async function demote(home: Home, me: Registered): Promise<Demoted | undefined> {
  const { rows } = await sql<Demoted>`
    with before as (select id, handoff_signal from process where id = ${me.id} and status in ('running', 'draining') for update)
    update process
    set status = 'running', worker_type = 'runner_waiting', standby = true,
        handoff_requested_by = null, handoff_grace_s = null, handoff_signal = false
    from before where process.id = before.id
    returning before.handoff_signal as "handoffSignal"`.execute(home.db)
  await failpoint('shutdown.stepped_back')
  return rows[0]
}

/** How long the end of a runner waits for the database. */
const FAREWELL_MS = 5_000

/** Closes our row: the last thing that a runner does. A database that is gone does not keep us: the next runner closes it. */
export async function deregister(
  { home, id }: { readonly home: Home; readonly id: string },
  code: number,
): Promise<void> {
  const over = new AbortController()
  const closed = markEnded(home.db, id, { code, signal: null }).catch(() => {})
  await Promise.race([closed, sleep(FAREWELL_MS, over.signal)])
  over.abort()
  await failpoint('shutdown.row_closed')
}
