import { sleep } from '../../src/base/abort.ts'
import type { Random } from '../soak/random.ts'
import type { Cluster } from './cluster.ts'
import type { Machine } from './machine.ts'
import type { Network } from './network.ts'

/** A lease and the wait for a lost node end before the longest of these. */
const SHORT = [2, 15] as const
const LONG = [40, 110] as const
/** What befalls a machine, and how often beside the others. */
const FAULTS = { power: 3, freeze: 3, unplug: 2, mislead: 2 } as const
/** What befalls the primary. */
const ENDS = { kill: 1, cut: 2 } as const
/** For so long at most nothing has reached the standby when the primary is cut off. */
const BEHIND = 8

/** A night, as faults see it. */
export interface Night {
  readonly network: Network
  /** By the clock of `performance`. */
  readonly until: number
  say(line: string): void
}

/** What a fault does; what it returns ends it. */
const DOES: Readonly<Record<keyof typeof FAULTS, (machine: Machine, network: Network) => Promise<() => void>>> = {
  async power(machine) {
    await machine.crash()
    return () => machine.boot()
  },
  async freeze(machine) {
    machine.freeze()
    return () => machine.thaw()
  },
  async unplug(machine) {
    machine.plug.out()
    return () => machine.plug.in()
  },
  async mislead(machine, { address }) {
    machine.plug.mislead(address)
    return () => machine.plug.leadBack(address)
  },
}

/** One thing after the other befalls a machine. */
export async function suffer(machine: Machine, own: Random, { network, until, say }: Night): Promise<void> {
  for (;;) {
    await sleep(own.between(5, 40) * 1_000)
    if (performance.now() > until) return
    const fault = own.weighted(FAULTS)
    const seconds = own.next() < 0.5 ? own.between(...SHORT) : own.between(...LONG)
    say(`${machine.name}: ${fault} for ${seconds.toFixed(0)} s`)
    const end = await DOES[fault](machine, network)
    await sleep(seconds * 1_000)
    end()
    // A runner that gave up is started again, as by systemd.
    if (!machine.isUp) machine.boot()
  }
}

/** The primary of the database goes, and another takes over, again and again. */
export async function failOver(cluster: Cluster, own: Random, { until, say }: Night): Promise<void> {
  for (;;) {
    await sleep(own.between(15, 45) * 1_000)
    if (performance.now() > until) return
    const behind = own.between(0, BEHIND)
    if (own.weighted(ENDS) === 'kill') {
      say('database: the primary is killed')
      await cluster.killPrimary()
    } else {
      say(`database: the primary is cut off, ${behind.toFixed(0)} s after its standby`)
      await cluster.cutPrimaryOff(behind)
    }
    say('database: the standby took over')
    await cluster.isWhole()
  }
}
