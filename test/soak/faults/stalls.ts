import type { Kind } from '../kinds.ts'
import type { Victim } from '../victims.ts'

/** Beyond this a leader cannot know any longer that it leads (runner/heartbeat.ts). */
const TRUST_MS = 25_000
/** Beyond this a lease is over (engine/queue.ts). */
const LEASE_MS = 60_000

/** Stops one process, and lets it go on later. */
export const stall = (victim: Victim, longer = 0): Kind['inflict'] => stallAll([victim], longer, 'one')

const stallAll =
  (victims: readonly Victim[], longer = 0, which: 'one' | 'all' = 'all'): Kind['inflict'] =>
  (world, { pick, ms }) => {
    const pids = victims.flatMap((victim) => (which === 'all' ? world.all(victim) : (world.choose(victim, pick) ?? [])))
    for (const pid of pids) world.stall(pid, ms + longer)
    return pids.length === 0 ? 'nobody is there' : `${pids.join(', ')} for ${((ms + longer) / 1000).toFixed(1)} s`
  }

const working: readonly Victim[] = ['guardian', 'runner', 'crawl worker', 'snapshot worker', 'hook host', 'hook']

export const STALLS = {
  'STOP leader': { weight: 3, inflict: stall('leader') },
  'STOP leader for longer than it may trust its lead': { weight: 2, inflict: stall('leader', TRUST_MS) },
  // It must not survive that: what wakes up is nobody's.
  'STOP leader, and start a runner': {
    weight: 3,
    inflict: (world, chance) => `${stall('leader', TRUST_MS)(world, chance)}; ${world.startRunner()}`,
  },
  'STOP any runner': { weight: 2, inflict: stall('runner') },
  'STOP any runner for longer than a leader may trust its lead': { weight: 2, inflict: stall('runner', TRUST_MS) },
  'STOP leader with a standby behind it': {
    weight: 2,
    inflict: (world, chance) =>
      `${world.startRunner('--standby')}; ${stall('leader', TRUST_MS + 10_000)(world, chance)}`,
  },
  'STOP crawl worker': { weight: 3, inflict: stall('crawl worker') },
  'STOP crawl worker for longer than its lease': { weight: 1, inflict: stall('crawl worker', LEASE_MS) },
  'STOP snapshot worker': { weight: 3, inflict: stall('snapshot worker') },
  'STOP snapshot worker for longer than its lease': { weight: 1, inflict: stall('snapshot worker', LEASE_MS) },
  'STOP hook': { weight: 2, inflict: stall('hook') },
  'STOP hook host': { weight: 1, inflict: stall('hook host') },
  'STOP guardian': { weight: 2, inflict: stall('guardian') },
  'STOP guardian, kill -9 leader': {
    weight: 2,
    inflict: (world, chance) => {
      const stalled = stall('guardian')(world, chance)
      const leader = world.choose('leader', chance.pick)
      if (leader !== undefined) world.signal(leader, 'SIGKILL')
      return `${stalled}, ${leader ?? 'no leader'}`
    },
  },
  'STOP everything that works': { weight: 2, inflict: stallAll(working) },
  'STOP everything that works for longer than a lease': { weight: 1, inflict: stallAll(working, LEASE_MS) },
  'STOP backend': { weight: 2, inflict: stall('backend') },
  'STOP postmaster': { weight: 1, inflict: stall('postmaster') },
  'STOP the whole server': { weight: 1, inflict: stallAll(['postmaster', 'backend']) },
  'STOP the whole server for longer than a leader may trust its lead': {
    weight: 1,
    inflict: stallAll(['postmaster', 'backend'], TRUST_MS),
  },
} as const satisfies Record<string, Kind>
