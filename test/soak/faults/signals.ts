import type { Chance, Kind } from '../kinds.ts'
import type { Victim } from '../victims.ts'
import type { World } from '../world.ts'

type Inflict = Kind['inflict']

/** Signals one process, so many times in so many milliseconds. */
const signal =
  (victim: Victim, ...signals: readonly NodeJS.Signals[]): Inflict =>
  (world, { pick, ms }) => {
    const pid = world.choose(victim, pick)
    if (pid === undefined) return `no ${victim} is there`
    // Two within 150 ms are one key press: a storm has both, and pauses.
    signals.forEach((name, index) => void world.after((index * ms) / signals.length, () => world.signal(pid, name)))
    return `${victim} ${pid}`
  }

/** Kills one of each of these kinds, or all of them, in this order and in one moment. */
function killTogether(world: World, { pick }: Chance, which: 'one' | 'all', ...victims: readonly Victim[]): string {
  const pids = victims.flatMap((victim) => (which === 'all' ? world.all(victim) : (world.choose(victim, pick) ?? [])))
  for (const pid of pids) world.signal(pid, 'SIGKILL')
  return pids.join(', ') || 'nobody is there'
}

const ours: readonly Victim[] = [
  'guardian',
  'runner',
  'crawl worker',
  'snapshot worker',
  'hook host',
  'hook',
  'command',
]

export const SIGNALS = {
  'kill -9 leader': { weight: 6, inflict: signal('leader', 'SIGKILL') },
  'kill -9 any runner': { weight: 3, inflict: signal('runner', 'SIGKILL') },
  'kill -9 crawl worker': { weight: 5, inflict: signal('crawl worker', 'SIGKILL') },
  'kill -9 snapshot worker': { weight: 6, inflict: signal('snapshot worker', 'SIGKILL') },
  'kill -9 hook host': { weight: 2, inflict: signal('hook host', 'SIGKILL') },
  'kill -9 hook': { weight: 4, inflict: signal('hook', 'SIGKILL') },
  'kill -9 guardian': { weight: 2, inflict: signal('guardian', 'SIGKILL') },
  'kill -9 command': { weight: 2, inflict: signal('command', 'SIGKILL') },
  'kill -9 leader and guardian': {
    weight: 2,
    inflict: (world, chance) => killTogether(world, chance, 'one', 'guardian', 'leader'),
  },
  'kill -9 guardian, then leader': {
    weight: 2,
    inflict: (world, { pick, ms }) => {
      const [guardian, leader] = [world.choose('guardian', pick), world.choose('leader', pick)]
      if (guardian === undefined || leader === undefined) return 'nobody is there'
      world.signal(guardian, 'SIGKILL')
      // Before, while, or after another one is started.
      world.after(ms / 40, () => world.signal(leader, 'SIGKILL'))
      return `${guardian}, ${leader} ${Math.round(ms / 40)} ms later`
    },
  },
  'kill -9 leader and its workers': {
    weight: 2,
    inflict: (world, chance) => killTogether(world, chance, 'all', 'leader', 'crawl worker', 'snapshot worker'),
  },
  'kill -9 leader and postmaster': {
    weight: 2,
    inflict: (world, chance) => killTogether(world, chance, 'one', 'postmaster', 'leader'),
  },
  'kill -9 everything of ours': { weight: 2, inflict: (world, chance) => killTogether(world, chance, 'all', ...ours) },
  'kill -9 everything, the server too': {
    weight: 1,
    inflict: (world, chance) => killTogether(world, chance, 'all', 'postmaster', ...ours, 'backend'),
  },
  'TERM leader': { weight: 3, inflict: signal('leader', 'SIGTERM') },
  'TERM leader twice': { weight: 2, inflict: signal('leader', 'SIGTERM', 'SIGTERM') },
  'INT leader three times': { weight: 2, inflict: signal('leader', 'SIGINT', 'SIGINT', 'SIGINT') },
  'HUP leader': { weight: 1, inflict: signal('leader', 'SIGHUP') },
  'QUIT leader': { weight: 1, inflict: signal('leader', 'SIGQUIT') },
  'a storm of signals on the leader': {
    weight: 1,
    inflict: signal(
      'leader',
      ...Array.from({ length: 25 }, () => ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGTERM'] as const).flat(),
    ),
  },
  'TERM everything of ours': {
    weight: 1,
    inflict: (world) => {
      const pids = ours.flatMap((victim) => world.all(victim))
      for (const pid of pids) world.signal(pid, 'SIGTERM')
      return pids.join(', ')
    },
  },
  'TERM crawl worker': { weight: 1, inflict: signal('crawl worker', 'SIGTERM') },
  'TERM snapshot worker': { weight: 2, inflict: signal('snapshot worker', 'SIGTERM') },
  'TERM hook': { weight: 1, inflict: signal('hook', 'SIGTERM') },
  'TERM command': { weight: 1, inflict: signal('command', 'SIGTERM') },
} as const satisfies Record<string, Kind>
