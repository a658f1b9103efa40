import type { Home } from '../../db/home.ts'
import { ages, LIVE_STATUSES, type LiveRow } from '../../db/processes.ts'
import { MARKER } from '../family.ts'
import { identityOf } from '../identity.ts'

const rows = (home: Home) =>
  home.db.selectFrom('process').selectAll().select(ages).where('data_dir_id', '=', home.dataDirId)

export async function rowById(home: Home, id: string): Promise<LiveRow | undefined> {
  return await rows(home).where('id', '=', id).executeTakeFirst()
}

/** The row of the process that has this pid now, by its exact identity; else of the last one that had it. */
export async function rowByPid(home: Home, pid: number): Promise<LiveRow | undefined> {
  const identity = await identityOf(pid)
  const ofPid = rows(home).where('pid', '=', pid)
  const current =
    identity &&
    (await ofPid
      .where('boot_id', '=', identity.bootId)
      .where('pid_namespace', '=', identity.pidNamespace)
      .where('start_ticks', '=', identity.startTicks)
      .where('status', 'in', LIVE_STATUSES)
      .executeTakeFirst())
  return current ?? (await ofPid.orderBy('seq', 'desc').executeTakeFirst())
}

/** Our own row; none when this process is not registered. */
export async function currentRow(home: Home): Promise<LiveRow | undefined> {
  const row = await rowByPid(home, process.pid)
  return row && row.start_ticks === (await identityOf(process.pid))?.startTicks ? row : undefined
}

/** The live row of whoever of ours started this process, as the mark in our environment says: a hook that calls the program, say. */
export async function startedBy(home: Home): Promise<string | null> {
  const id = process.env[MARKER.process]
  if (!id) return null
  const row = await rows(home).where('id', '=', id).where('status', 'in', LIVE_STATUSES).executeTakeFirst()
  return row?.id ?? null
}
