import { writeFile } from 'node:fs/promises'
import { sleep } from '../../base/abort.ts'
import { every, nowAndEvery } from '../every.ts'
import type { Watchdog } from '../watchdog.ts'
import type { Gauge } from './gauge.ts'
import { deleteOld, expire } from './housekeeping.ts'
import type { Producer } from './producer.ts'
import { DEFAULTS, type RunnerOptions } from './runner-options.ts'
import type { Tally } from './tally.ts'

const LIVENESS_EVERY_MS = 10_000
const BEAT_MS = 250
/** A runner that starts with a backlog has more urgent work than counting. */
const UNKNOWN_AFTER_MS = 2_000

/** What the keepers watch. */
export interface Kept {
  readonly options: RunnerOptions
  readonly producers: readonly Producer[]
  readonly gauge: Gauge
  readonly tally: Tally
  readonly watchdog: Watchdog | undefined
  readonly report: (error: unknown) => void
}

/** Shows that the loop is alive: feeds the watchdog, writes the liveness file, delivers summaries. */
export function keepWatch(
  { options, producers, gauge, tally, report, watchdog }: Kept,
  until: AbortSignal,
): Promise<void>[] {
  const { livenessFile, summaryEveryMs = DEFAULTS.summaryEveryMs } = options
  const keepers = [
    sleep(UNKNOWN_AFTER_MS, until)
      .then(() => tally.lookForUnknown())
      .catch(report),
    every(summaryEveryMs, until, report, async () => {
      await tally.lookForUnknown()
      tally.summarise()
    }),
  ]
  if (livenessFile !== undefined) {
    keepers.push(
      nowAndEvery(LIVENESS_EVERY_MS, until, report, async () => {
        if (gauge.oldestMs < LIVENESS_EVERY_MS) await writeFile(livenessFile, `${process.pid}\n`)
      }),
    )
  }
  if (watchdog) {
    const isAtWork = () => producers.some(({ isIdle }) => !isIdle)
    const feeding = nowAndEvery(Math.min(BEAT_MS, watchdog.afterMs / 8), until, report, () =>
      watchdog.feed(isAtWork(), gauge.oldestMs),
    )
    keepers.push(feeding.finally(() => watchdog.close()))
  }
  return keepers
}

/** Moves rows along their timeouts and deletes expired ones, each with its own timer. */
export function keepHouse({ options, producers, report }: Kept, until: AbortSignal): Promise<void>[] {
  const {
    timeoutsEveryMs = DEFAULTS.timeoutsEveryMs,
    deletionsEveryMs = DEFAULTS.deletionsEveryMs,
    by = null,
  } = options
  return producers.flatMap((producer) => [
    nowAndEvery(timeoutsEveryMs, until, report, async () => {
      if (await expire(producer, by, until)) producer.news()
    }),
    nowAndEvery(deletionsEveryMs, until, report, () => deleteOld(producer, until)),
  ])
}
