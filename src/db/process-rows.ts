import type { Home } from './home.ts'
import { ages, type Identity, IS_LIVE, type LiveRow, type ProcessRow } from './processes.ts'

// Rows of processes as people and supervisors look for them. What changes them is in processes.ts.

const rows = (home: Home) =>
  home.db.selectFrom('process').selectAll().select(ages).where('data_dir_id', '=', home.dataDirId)

/** One row of this data dir. */
export async function rowById(home: Home, id: string): Promise<LiveRow | undefined> {
  return await rows(home).where('id', '=', id).executeTakeFirst()
}

/** The same, unless its process has ended. */
export async function liveRowById(home: Home, id: string): Promise<LiveRow | undefined> {
  return await rows(home).where('id', '=', id).where(IS_LIVE).executeTakeFirst()
}

/** The live row of exactly this process. */
export async function liveRowOf(home: Home, identity: Identity): Promise<LiveRow | undefined> {
  return await rows(home)
    .where(IS_LIVE)
    .where('pid', '=', identity.pid)
    .where('start_ticks', '=', identity.startTicks)
    .where('boot_id', '=', identity.bootId)
    .where('pid_namespace', '=', identity.pidNamespace)
    .executeTakeFirst()
}

/** The last row of this data dir whose process had this pid. */
export async function lastRowOfPid(home: Home, pid: number): Promise<LiveRow | undefined> {
  return await rows(home).where('pid', '=', pid).orderBy('seq', 'desc').limit(1).executeTakeFirst()
}

/** What these processes started themselves, in the order in which they did. */
export async function childRows(home: Home, parentIds: readonly string[]): Promise<ProcessRow[]> {
  return await home.db.selectFrom('process').selectAll().where('parent_id', 'in', parentIds).orderBy('seq').execute()
}
