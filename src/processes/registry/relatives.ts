import type { Home } from '../../db/home.ts'
import { childRows, rowById } from '../../db/process-rows.ts'
import type { LiveRow, ProcessRow } from '../../db/processes.ts'

/** Who started a process, who started that, and so on: the nearest first. A row edited into a circle ends where it would begin again. */
export async function ancestorsOf(home: Home, row: LiveRow): Promise<LiveRow[]> {
  const found: LiveRow[] = []
  const seen = new Set([row.id])
  for (let id = row.parent_id; id !== null && !seen.has(id); ) {
    seen.add(id)
    const parent = await rowById(home, id)
    if (!parent) break
    found.push(parent)
    id = parent.parent_id
  }
  return found
}

export async function parentOf(home: Home, row: ProcessRow): Promise<ProcessRow | undefined> {
  return row.parent_id === null ? undefined : await rowById(home, row.parent_id)
}

/** The first of the line that a process stands in: itself, when nobody of ours started it. */
export async function rootOf(home: Home, row: LiveRow): Promise<LiveRow> {
  return (await ancestorsOf(home, row)).at(-1) ?? row
}

/** What a process started itself, in the order in which that was. */
export async function childrenOf(home: Home, id: string): Promise<ProcessRow[]> {
  return await childRows(home, [id])
}

/** All that a process started, level by level. */
export async function descendantsOf(home: Home, id: string): Promise<ProcessRow[]> {
  const found: ProcessRow[] = []
  const seen = new Set([id])
  for (let level = [id]; level.length > 0; ) {
    const fresh = (await childRows(home, level)).filter((row) => !seen.has(row.id))
    for (const row of fresh) seen.add(row.id)
    found.push(...fresh)
    level = fresh.map((row) => row.id)
  }
  return found
}
