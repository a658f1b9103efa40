import { type Migrating, newestSchema } from '../../db/migrate.ts'
import { askToDrain } from '../../db/nodes.ts'
import { killFamily, killLeftovers } from '../../processes/family.ts'
import { livenessOf, signalIdentity } from '../../processes/identity.ts'
import { MARKER } from '../../processes/marks.ts'
import { bootId, pidNamespace } from '../../processes/proc.ts'

/**
 * For `migrate`: takes over from the runner of an older program, which knows nothing of the rows that runners write
 * today: a signal asks it to drain; after the grace it is killed with all that it has started.
 * One of another data dir, or where no signal reaches it, is asked in the row of its node, and drains by itself.
 */
export function takingOver(dataDir: string, graceMs: number): Migrating['makeWay'] {
  const askedAt = new Map<string, number>()
  return async ({ id, identity, dataDir: itsDataDir, node, drains }, db) => {
    const isHere = identity?.bootId === bootId() && identity.pidNamespace === pidNamespace()
    if (!identity || !isHere || itsDataDir !== dataDir) {
      if (!node) return 'stays'
      await askToDrain(db, node.id, newestSchema())
      return drains ? 'leaving' : 'asked'
    }
    const family = { roots: [identity], markers: [`${MARKER.runner}=${id}`] }
    if ((await livenessOf(identity)) !== 'alive') {
      await killLeftovers(family)
      return 'gone'
    }
    const since = askedAt.get(id)
    if (since === undefined) {
      askedAt.set(id, performance.now())
      return (await signalIdentity(identity, 'SIGTERM')) ? 'leaving' : 'stays'
    }
    if (performance.now() - since <= graceMs) return 'leaving'
    return (await killFamily(family)).length === 0 ? 'gone' : 'stays'
  }
}

/** For `migrate`, of whoever does not run: runners are left alone. */
export const leavingAlone: Migrating['makeWay'] = async () => 'stays'
