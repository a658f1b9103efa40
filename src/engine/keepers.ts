import { writeFile } from 'node:fs/promises'
import { every } from './every.ts'
import type { Gauge } from './gauge.ts'
import { deleteOld, expire } from './housekeeping.ts'
import type { Intake } from './intake.ts'
import { DEFAULTS, type RunnerOptions } from './runner-options.ts'
import type { Tally } from './tally.ts'
import { Watchdog } from './watchdog.ts'

const LIVENESS_EVERY_MS = 10_000
const BEAT_MS = 250

/** What keepers look after. */
export interface Kept {
  readonly options: RunnerOptions
  readonly intakes: readonly Intake[]
  readonly gauge: Gauge
  readonly tally: Tally
  readonly report: (error: unknown) => void
}

/** Renews leases and keeps deadlines, for as long as rows are in hand. */
export function keepClaims({ intakes, report }: Kept, until: AbortSignal): Promise<void>[] {
  return intakes.flatMap(({ lane, leaseSeconds }) => [
    every((leaseSeconds * 1000) / 3, until, report, () => lane.renew()),
    every(BEAT_MS, until, report, () => lane.check()),
  ])
}

/** Shows that the loop is alive: feeds the watchdog, writes the liveness file, hands out summaries. */
export function keepWatch({ options, intakes, gauge, tally, report }: Kept, until: AbortSignal): Promise<void>[] {
  const { livenessFile, summaryEveryMs = DEFAULTS.summaryEveryMs, watchdog: watch = DEFAULTS.watchdog } = options
  const watchdog = watch ? new Watchdog(watch) : undefined
  const isAtWork = () => intakes.some(({ isIdle }) => !isIdle)
  let isFirst = true
  return [
    every(Math.min(BEAT_MS, watch ? watch.afterMs / 8 : BEAT_MS), until, report, () => watchdog?.feed(isAtWork(), gauge.oldestMs)).finally(
      () => watchdog?.close(),
    ),
    every(LIVENESS_EVERY_MS, until, report, async () => {
      if (livenessFile !== undefined && gauge.oldestMs < LIVENESS_EVERY_MS) await writeFile(livenessFile, `${process.pid}\n`)
    }),
    every(summaryEveryMs, until, report, async () => {
      await tally.lookForUnknown()
      if (!isFirst) tally.summarise()
      isFirst = false
    }),
  ]
}

/** Moves rows along their timeouts and deletes those whose time is over, each with a timer of its own. */
export function keepHouse({ options, intakes, report }: Kept, until: AbortSignal): Promise<void>[] {
  const { timeoutsEveryMs = DEFAULTS.timeoutsEveryMs, deletionsEveryMs = DEFAULTS.deletionsEveryMs, by = null } = options
  return intakes.flatMap((intake) => [
    every(timeoutsEveryMs, until, report, async () => {
      if (await expire(intake, by, until)) intake.news()
    }),
    every(deletionsEveryMs, until, report, () => deleteOld(intake, until)),
  ])
}
