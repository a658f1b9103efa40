import type { Home } from '../../db/home.ts'
import { CRAWLS, listedByIds } from '../../db/lists/listings.ts'
import { crawlsOfSnapshots } from '../../db/snapshots.ts'
import {
  cancelCrawls,
  cancelSnapshots,
  pauseCrawls,
  pauseSnapshots,
  resumeCrawls,
  resumeSnapshots,
} from '../../machines/commands.ts'
import { reconcilePages } from '../../workers/repair/reconcile-pages.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'

/** How users steer crawls and pages. Steering a crawl steers its pages. */
export type Steering = 'pause' | 'resume' | 'cancel'

export interface SteerInput {
  readonly noun: 'crawl' | 'snapshot'
  readonly verb: Steering
  readonly ids: readonly string[]
}

type Send = (home: Home, ids: readonly string[]) => Promise<string[]>

const SEND: Readonly<Record<SteerInput['noun'], Readonly<Record<Steering, Send>>>> = {
  crawl: {
    pause: ({ db }, ids) => pauseCrawls(db, ids),
    resume: ({ db }, ids) => resumeCrawls(db, ids),
    cancel: cancelCrawls,
  },
  snapshot: {
    pause: ({ db }, ids) => pauseSnapshots(db, ids),
    resume: ({ db }, ids) => resumeSnapshots(db, ids),
    cancel: cancelSnapshots,
  },
}

/** The outcome. */
export interface Steered {
  /** Rows whose state allowed it. */
  readonly changed: readonly string[]
  /** Paused crawls that resumed pages wait for. */
  readonly pausedCrawls: readonly string[]
}

/** The rows are changed; their pages on disk are yet to be rewritten. */
export interface RowsSteered extends Steered {
  readonly event: 'rows steered'
}

/**
 * Pauses, resumes or cancels crawls or pages. The pages of cancelled rows on disk are rewritten; after a kill before
 * that, the next runner does it.
 */
export async function steer(
  { home }: Pick<Archive, 'home'>,
  { noun, verb, ids }: SteerInput,
  { tell }: Pick<Call<RowsSteered>, 'tell'> = {},
): Promise<Steered> {
  const changed = await SEND[noun][verb](home, ids)
  const isCancel = changed.length > 0 && verb === 'cancel'
  const isWaiting = noun === 'snapshot' && verb === 'resume'
  const crawls = noun === 'crawl' ? changed : isCancel || isWaiting ? await crawlsOfSnapshots(home.db, changed) : []
  const waitedFor = isWaiting ? await listedByIds(home.db, CRAWLS, crawls) : []
  const steered = { changed, pausedCrawls: waitedFor.filter(({ status }) => status === 'paused').map(({ id }) => id) }
  tell?.({ event: 'rows steered', ...steered })
  if (isCancel) await reconcilePages(home, crawls, noun === 'snapshot' ? changed : undefined)
  return steered
}
