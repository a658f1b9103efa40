import type { Database } from '../db/database.ts'
import { keepMeanings } from '../db/meanings.ts'
import type { Plugin } from './discover.ts'
import { saidBy } from './upstream/meanings.ts'

/** The plugins whose meanings this process has stored: the list stays the same until a folder of plugins changes. */
const kept = new WeakSet<readonly Plugin[]>()

/** Stores what these plugins make, for judging and showing pages when they are gone. Once, until they change. */
export async function noteMeanings(db: Database, plugins: readonly Plugin[]): Promise<void> {
  if (kept.has(plugins)) return
  await keepMeanings(db, new Map(plugins.map((plugin) => [plugin.name, saidBy(plugin)])))
  kept.add(plugins)
}
