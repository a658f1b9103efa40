import { BROWSER } from './faults/browser.ts'
import { DATABASE } from './faults/database.ts'
import { DISK } from './faults/disk.ts'
import { PEOPLE } from './faults/people.ts'
import { ROWS } from './faults/rows.ts'
import { RUNNERS } from './faults/runners.ts'
import { SIGNALS } from './faults/signals.ts'
import { STALLS } from './faults/stalls.ts'
import type { Chance, Kind } from './kinds.ts'
import type { World } from './world.ts'

/** Everything that may happen. */
export const KINDS = {
  ...SIGNALS,
  ...STALLS,
  ...RUNNERS,
  ...PEOPLE,
  ...ROWS,
  ...DATABASE,
  ...DISK,
  ...BROWSER,
} as const satisfies Record<string, Kind>

/** What may happen in a run with captures, or without. */
export function kindsOf(captures: boolean): Partial<typeof KINDS> {
  const names = Object.keys(KINDS).filter((name) => captures || !(name in BROWSER))
  return Object.fromEntries(names.map((name) => [name, KINDS[name as keyof typeof KINDS]]))
}

export async function inflict(world: World, fault: Chance & { readonly kind: keyof typeof KINDS }): Promise<string> {
  const kind: Kind = KINDS[fault.kind]
  return await kind.inflict(world, fault)
}
