import { readFileSync } from 'node:fs'
import type { Machine } from './machine.ts'

/** A hook that a thawed machine ends may go on for so long. */
const LEAVES_MS = 1_000

/** A hook that ran, by what it wrote ten times a second. */
interface Run {
  readonly page: string
  readonly machine: string
  readonly first: number
  last: number
}

/**
 * Pages on which two machines worked at a time. A machine that stood still meanwhile may not know it for a moment.
 * @param ticks the file that hooks wrote to: a page, a machine, a run of the hook, a time
 */
export function overlaps(machines: readonly Machine[], ticks: string): string[] {
  const thawedAt = new Map(machines.map((machine) => [machine.name, machine.thawedAt]))
  const runs = new Map<string, Run>()
  for (const line of readFileSync(ticks, 'utf8').trim().split('\n')) {
    const [page, machine, id, text] = line.split(' ') as [string, string, string, string]
    const at = Number(text)
    const run = runs.get(`${machine} ${id}`)
    if (!run) runs.set(`${machine} ${id}`, { page, machine, first: at, last: at })
    else if (!thawedAt.get(machine)!.some((since) => at >= since && at - since < LEAVES_MS)) run.last = at
  }
  const ofPage = Map.groupBy(runs.values(), ({ page }) => page)
  return [...ofPage].flatMap(([page, all]) =>
    all.flatMap((one) =>
      all
        .filter((other) => other.machine > one.machine && other.first < one.last && one.first < other.last)
        .map((other) => `two machines worked on ${page} at a time: ${one.machine} and ${other.machine}`),
    ),
  )
}
