import { Random } from './random.ts'
import type { World } from './world.ts'

/** The processes that a fault may hit, as somebody outside tells them apart. */
export const VICTIMS = [
  'leader',
  'runner',
  'crawl worker',
  'snapshot worker',
  'hook host',
  'hook',
  'watchdog',
  'postmaster',
  'backend',
] as const
export type Victim = (typeof VICTIMS)[number]

/** One fault of a schedule. `pick`, from 0 to 1, chooses among those that it may hit when its time has come. */
export interface Fault {
  readonly atMs: number
  readonly kind: keyof typeof KINDS
  readonly pick: number
  /** How long, for what lasts. */
  readonly ms: number
}

type Inflict = (world: World, fault: Fault) => string | Promise<string>

const signal =
  (victim: Victim, name: NodeJS.Signals): Inflict =>
  (world, { pick }) => {
    const pid = world.choose(victim, pick)
    if (pid === undefined) return `no ${victim} is there`
    world.signal(pid, name)
    return `${victim} ${pid}`
  }

/** Stops a process, and lets it go on later. */
const stall =
  (victim: Victim): Inflict =>
  (world, { pick, ms }) => {
    const pid = world.choose(victim, pick)
    if (pid === undefined) return `no ${victim} is there`
    world.stall(pid, ms)
    return `${victim} ${pid} for ${(ms / 1000).toFixed(1)} s`
  }

/** Everything that may happen, with how often it does beside the others, and how it is done. */
const KINDS = {
  'kill -9 leader': { weight: 6, inflict: signal('leader', 'SIGKILL') },
  'kill -9 any runner': { weight: 3, inflict: signal('runner', 'SIGKILL') },
  'kill -9 crawl worker': { weight: 6, inflict: signal('crawl worker', 'SIGKILL') },
  'kill -9 snapshot worker': { weight: 8, inflict: signal('snapshot worker', 'SIGKILL') },
  'kill -9 hook host': { weight: 3, inflict: signal('hook host', 'SIGKILL') },
  'kill -9 hook': { weight: 6, inflict: signal('hook', 'SIGKILL') },
  'kill -9 watchdog': { weight: 2, inflict: signal('watchdog', 'SIGKILL') },
  'kill -9 leader and watchdog': { weight: 2, inflict: (world, fault) => both(world, fault, ['watchdog', 'leader']) },
  'kill -9 leader and its workers': {
    weight: 2,
    inflict: (world, fault) => both(world, fault, ['leader', 'crawl worker', 'snapshot worker']),
  },
  'kill -9 postmaster': { weight: 2, inflict: signal('postmaster', 'SIGKILL') },
  'kill -9 backend': { weight: 1, inflict: signal('backend', 'SIGKILL') },
  'TERM leader': { weight: 4, inflict: signal('leader', 'SIGTERM') },
  'TERM snapshot worker': { weight: 2, inflict: signal('snapshot worker', 'SIGTERM') },
  'TERM hook': { weight: 2, inflict: signal('hook', 'SIGTERM') },
  'INT postmaster (fast stop)': { weight: 1, inflict: signal('postmaster', 'SIGINT') },
  'QUIT postmaster (immediate stop)': { weight: 1, inflict: signal('postmaster', 'SIGQUIT') },
  'TERM backend': { weight: 3, inflict: signal('backend', 'SIGTERM') },
  'STOP leader': { weight: 3, inflict: stall('leader') },
  'STOP any runner': { weight: 2, inflict: stall('runner') },
  'STOP crawl worker': { weight: 3, inflict: stall('crawl worker') },
  'STOP snapshot worker': { weight: 3, inflict: stall('snapshot worker') },
  'STOP hook': { weight: 2, inflict: stall('hook') },
  'STOP watchdog': { weight: 1, inflict: stall('watchdog') },
  'STOP backend': { weight: 2, inflict: stall('backend') },
  'start a runner': { weight: 6, inflict: (world) => world.startRunner() },
  'start a runner that stands by': { weight: 2, inflict: (world) => world.startRunner('--standby') },
  'start three runners at once': { weight: 1, inflict: (world) => [1, 2, 3].map(() => world.startRunner()).join(', ') },
  add: { weight: 6, inflict: (world, { pick }) => world.add(1 + Math.floor(pick * 6)) },
  'pause and resume a crawl': { weight: 3, inflict: (world, { pick, ms }) => world.pauseCrawl(pick, ms) },
} as const satisfies Record<string, { weight: number; inflict: Inflict }>

function both(world: World, { pick }: Fault, victims: readonly Victim[]): string {
  const pids = victims.flatMap((victim) => world.choose(victim, pick) ?? [])
  for (const pid of pids) world.signal(pid, 'SIGKILL')
  return pids.join(', ') || 'nobody is there'
}

export async function inflict(world: World, fault: Fault): Promise<string> {
  return await KINDS[fault.kind].inflict(world, fault)
}

/** The faults of a run: one every 1 to 5 s, or as much faster as `pace` says. */
export function scheduleOf(seed: number, lengthMs: number, pace = 1): Fault[] {
  const random = new Random(seed)
  const weights = Object.fromEntries(Object.entries(KINDS).map(([kind, { weight }]) => [kind, weight])) as Record<Fault['kind'], number>
  const schedule: Fault[] = []
  for (let atMs = 3_000; ; ) {
    atMs += random.between(1_000, 5_000) / pace
    if (atMs > lengthMs) return schedule
    schedule.push({
      atMs: Math.round(atMs),
      kind: random.weighted(weights),
      pick: random.next(),
      ms: Math.round(random.between(300, 8_000)),
    })
  }
}
