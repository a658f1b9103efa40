import type { Home } from './home.ts'
import { ages, type Identity, LIVE_STATUSES, type LiveRow, type ProcessRow } from './processes.ts'

// Single rows of the table `process`, and those below them. What all live rows are is in processes.ts.

const rows = (home: Home) =>
  home.db.selectFrom('process').selectAll().select(ages).where('data_dir_id', '=', home.dataDirId)

/** The row with this id, open or closed; undefined when this data dir has none. */
export async function rowById(home: Home, id: string): Promise<LiveRow | undefined> {
  return await rows(home).where('id', '=', id).executeTakeFirst()
}

/** The open row of exactly this process. */
export async function rowOfProcess(home: Home, identity: Identity): Promise<LiveRow | undefined> {
  return await rows(home)
    .where('pid', '=', identity.pid)
    .where('boot_id', '=', identity.bootId)
    .where('pid_namespace', '=', identity.pidNamespace)
    .where('start_ticks', '=', identity.startTicks)
    .where('status', 'in', LIVE_STATUSES)
    .executeTakeFirst()
}

/** The row of the last process that had this pid. */
export async function lastRowOfPid(home: Home, pid: number): Promise<LiveRow | undefined> {
  return await rows(home).where('pid', '=', pid).orderBy('seq', 'desc').executeTakeFirst()
}

/** What these processes started themselves, in the order in which that was. */
export async function childrenOf(home: Home, ids: readonly string[]): Promise<ProcessRow[]> {
  return await home.db.selectFrom('process').selectAll().where('parent_id', 'in', ids).orderBy('seq').execute()
}

/** Is this row open: not yet closed by whoever saw its process end? */
export function isOpen(row: Pick<ProcessRow, 'status'>): boolean {
  return (LIVE_STATUSES as readonly string[]).includes(row.status)
}
