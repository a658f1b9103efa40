import type { Home } from '../../db/home.ts'
import { lastRowOfPid, liveRowById, liveRowOf } from '../../db/process-rows.ts'
import type { LiveRow } from '../../db/processes.ts'
import { MARKER } from '../family.ts'
import { identityOf } from '../identity.ts'

/** The row of the process that has this pid now, by its exact identity; else of the last one that had it. */
export async function rowByPid(home: Home, pid: number): Promise<LiveRow | undefined> {
  const identity = await identityOf(pid)
  const current = identity && (await liveRowOf(home, identity))
  return current ?? (await lastRowOfPid(home, pid))
}

/** Our own row; none when this process is not registered. */
export async function currentRow(home: Home): Promise<LiveRow | undefined> {
  const row = await rowByPid(home, process.pid)
  return row && row.start_ticks === (await identityOf(process.pid))?.startTicks ? row : undefined
}

/** The live row of whoever of ours started this process, as the mark in our environment says: a hook that calls the program, say. */
export async function startedBy(home: Home): Promise<string | null> {
  const id = process.env[MARKER.process]
  return (id && (await liveRowById(home, id))?.id) || null
}
