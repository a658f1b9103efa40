import type { Kind } from '../kinds.ts'
import type { Victim } from '../victims.ts'
import { stall } from './stalls.ts'

const kill =
  (...victims: readonly Victim[]): Kind['inflict'] =>
  (world, { pick }) => {
    const pids = victims.flatMap((victim) => world.choose(victim, pick) ?? [])
    for (const pid of pids) world.signal(pid, 'SIGKILL')
    return pids.join(', ') || 'nobody is there'
  }

/** What happens to the browser of a crawl, where pages are captured. */
export const BROWSER = {
  'kill -9 browser': { weight: 8, inflict: kill('browser') },
  'kill -9 launcher': { weight: 8, inflict: kill('launcher') },
  'kill -9 launcher and browser': { weight: 3, inflict: kill('launcher', 'browser') },
  'kill -9 browser and snapshot worker': { weight: 3, inflict: kill('browser', 'snapshot worker') },
  'kill -9 launcher and crawl worker': { weight: 3, inflict: kill('launcher', 'crawl worker') },
  'kill -9 renderer': { weight: 5, inflict: kill('renderer') },
  'STOP browser': { weight: 5, inflict: stall('browser') },
  'STOP browser for longer than it may be silent': { weight: 3, inflict: stall('browser', 20_000) },
  'STOP renderer': { weight: 3, inflict: stall('renderer') },
  'STOP launcher': { weight: 3, inflict: stall('launcher') },
  'STOP launcher for longer than a visit': { weight: 1, inflict: stall('launcher', 60_000) },
  'TERM launcher': {
    weight: 2,
    inflict: (world, { pick }) => {
      const pid = world.choose('launcher', pick)
      if (pid === undefined) return 'nobody is there'
      world.signal(pid, 'SIGTERM')
      return String(pid)
    },
  },
} as const satisfies Record<string, Kind>
