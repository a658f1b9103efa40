import type { Database } from '../db/database.ts'
import { keepMeanings } from '../db/meanings.ts'
import type { Plugin } from './discover.ts'
import { saidBy } from './upstream/meanings.ts'

/** Those whose meanings this process has kept: they are the same ones until a folder of plugins changes. */
const kept = new WeakSet<readonly Plugin[]>()

/** Keeps what these plugins make, for whoever judges and shows pages when they are gone. Once, until they change. */
export async function noteMeanings(db: Database, plugins: readonly Plugin[]): Promise<void> {
  if (kept.has(plugins)) return
  await keepMeanings(db, new Map(plugins.map((plugin) => [plugin.name, saidBy(plugin)])))
  kept.add(plugins)
}
