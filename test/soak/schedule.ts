import type { KINDS } from './faults.ts'
import { Random } from './random.ts'

/** One fault of a schedule. `pick`, from 0 to 1, chooses among those that it may hit when its time has come. */
export interface Fault {
  readonly atMs: number
  readonly kind: keyof typeof KINDS
  readonly pick: number
  /** How long, for what lasts. */
  readonly ms: number
}

/** The faults of a run, of these kinds: one every 1 to 5 s, or as much faster as `pace` says. */
export function scheduleOf(kinds: Partial<typeof KINDS>, seed: number, lengthMs: number, pace = 1): Fault[] {
  const random = new Random(seed)
  const weights = Object.fromEntries(Object.entries(kinds).map(([kind, { weight }]) => [kind, weight])) as Record<
    Fault['kind'],
    number
  >
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
