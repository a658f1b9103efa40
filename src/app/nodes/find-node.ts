import { AppError, UsageError } from '../../base/errors.ts'
import { duration } from '../../base/words.ts'
import type { Database } from '../../db/database.ts'
import { type ListedNode, listNodes } from '../../db/node-list.ts'
import { isPartOfId } from '../ids.ts'

/**
 * The node with this name or id; the beginning or end of an id is enough where only one has it. Throws UsageError.
 * @param counts whether its pages are counted, if it is not lost
 */
export async function findNode(db: Database, which: string, counts: 'all' | 'lost' = 'lost'): Promise<ListedNode> {
  const all = await listNodes(db, counts)
  const named = all.find(({ name }) => name === which)
  if (named) return named
  const digits = which.toLowerCase().replaceAll('-', '')
  const isMeant = ({ id }: ListedNode) => {
    const own = id.replaceAll('-', '')
    return own.startsWith(digits) || own.endsWith(digits)
  }
  const [found, another] = isPartOfId(which) ? all.filter(isMeant) : []
  if (!found) throw new UsageError(`there is no node ${which}`, 'archivebox-ts node list shows them')
  if (another)
    throw new UsageError(`${which} matches more than one node`, `give its name: ${found.name}, ${another.name}`)
  return found
}

/**
 * Throws AppError for a node that works, or may: others would do with its files what it does not know of.
 * @param lostSeconds after so long without a report it counts as lost
 */
export function refuseAlive({ name, state, leads, heartbeat_age_s: age }: ListedNode, lostSeconds: number): void {
  const heard = `heard of ${duration(Math.max(0, age))} ago`
  if (leads)
    throw new AppError(`node ${name} is alive: its runner was ${heard}`, {
      hint: 'stop that runner first; one that was killed counts as alive for 30 s',
    })
  if (state === 'active' && age < lostSeconds)
    throw new AppError(`node ${name} is active: it was ${heard}`, {
      hint: `archivebox-ts node drain ${name}, if it will not come back; else it is lost after ${lostSeconds} s`,
    })
}
