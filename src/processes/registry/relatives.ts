import type { Home } from '../../db/home.ts'
import { childRows, rowById } from '../../db/process-rows.ts'
import type { LiveRow, ProcessRow } from '../../db/processes.ts'

/**
 * The process that started this one, the one that started that, and so on: the nearest first. A circle ends at once.
 */
export async function ancestorsOf(home: Home, row: LiveRow): Promise<LiveRow[]> {
  return await above(row, (id) => rowById(home, id))
}

/** The same among rows that were read already. */
export async function ancestorsAmong(rows: readonly LiveRow[], row: LiveRow): Promise<LiveRow[]> {
  return await above(row, (id) => rows.find((candidate) => candidate.id === id))
}

async function above(
  row: LiveRow,
  rowOf: (id: string) => LiveRow | undefined | Promise<LiveRow | undefined>,
): Promise<LiveRow[]> {
  const found: LiveRow[] = []
  const seen = new Set([row.id])
  for (let id = row.parent_id; id !== null && !seen.has(id); ) {
    seen.add(id)
    const parent = await rowOf(id)
    if (!parent) break
    found.push(parent)
    id = parent.parent_id
  }
  return found
}

/** The process that started this one; undefined when it is none of ours. */
export async function parentOf(home: Home, row: ProcessRow): Promise<LiveRow | undefined> {
  return row.parent_id === null ? undefined : await rowById(home, row.parent_id)
}

/** The last of a process's ancestors: itself, when no process of ours started it. */
export async function rootOf(home: Home, row: LiveRow): Promise<LiveRow> {
  return (await ancestorsOf(home, row)).at(-1) ?? row
}

/** The processes that this one started itself, in the order of their starts. */
export async function childrenOf(home: Home, id: string): Promise<ProcessRow[]> {
  return await childRows(home, [id])
}

/** All processes that it started, level by level. */
export async function descendantsOf(home: Home, id: string): Promise<ProcessRow[]> {
  return await below(id, (ids) => childRows(home, ids))
}

/** The same among rows that were read already. */
export async function descendantsAmong(rows: readonly ProcessRow[], id: string): Promise<ProcessRow[]> {
  return await below(id, async (ids) => rows.filter(({ parent_id }) => parent_id !== null && ids.includes(parent_id)))
}

/** Each row once: one that was edited into a circle must not make this endless. */
async function below(id: string, childrenOfAll: (ids: string[]) => Promise<ProcessRow[]>): Promise<ProcessRow[]> {
  const found = new Map<string, ProcessRow>()
  for (let level = [id]; level.length > 0; ) {
    const fresh = (await childrenOfAll(level)).filter((row) => row.id !== id && !found.has(row.id))
    for (const row of fresh) found.set(row.id, row)
    level = fresh.map((row) => row.id)
  }
  return [...found.values()]
}
