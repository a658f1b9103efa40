import { leadCopy } from '../copy.ts'
import type { Kind } from '../kinds.ts'

export const RUNNERS = {
  'start a runner': { weight: 5, inflict: (world) => world.startRunner() },
  'start a daemon': { weight: 1, inflict: (world) => world.startRunner('--daemon') },
  'start a runner that stands by': { weight: 2, inflict: (world) => world.startRunner('--standby') },
  'start two that stand by': {
    weight: 1,
    inflict: (world) => [world.startRunner('--standby', '--daemon'), world.startRunner('--standby')].join(', '),
  },
  'start three runners at once': { weight: 1, inflict: (world) => [1, 2, 3].map(() => world.startRunner()).join(', ') },
  'start six runners at once': {
    weight: 1,
    inflict: (world) => [1, 2, 3, 4, 5, 6].map(() => world.startRunner()).join(', '),
  },
  'start a runner that leaves soon': {
    weight: 1,
    inflict: (world, { ms }) => world.startRunner('--run-for', String(Math.ceil(ms / 1000))),
  },
  'start a runner that leaves when idle': { weight: 1, inflict: (world) => world.startRunner('--exit-on-idle') },
  'start a runner for maintenance': { weight: 1, inflict: (world) => world.startRunner('--maintenance-only') },
  'copy the data dir, and lead the copy': {
    weight: 1,
    inflict: (world) => {
      world.beside(leadCopy(world.dataDir, world.env, world.ledger))
      return ''
    },
  },
  'start an impatient runner': { weight: 1, inflict: (world) => world.startRunner('--handoff-grace', '1') },
  'start a runner, and end it while it starts': {
    weight: 3,
    inflict: (world, { pick, ms }) => {
      const pid = world.startRunnerPid()
      const signal = pick < 0.6 ? 'SIGKILL' : 'SIGTERM'
      // From before its first line to some way into its work.
      world.after(ms / 5, () => world.signal(pid, signal))
      return `runner ${pid}, ${signal} ${Math.round(ms / 5)} ms later`
    },
  },
} as const satisfies Record<string, Kind>
