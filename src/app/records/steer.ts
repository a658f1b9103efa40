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

/** What people do to crawls and pages. What is done to a crawl is done to its pages. */
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

/** What came of it. */
export interface Steered {
  /** Those whose state allowed it. */
  readonly changed: string[]
  /** Crawls that are paused, for which pages wait that were resumed. */
  readonly pausedCrawls: string[]
}

/** Pauses, resumes or cancels crawls or pages; what shows a page on disk is written anew. */
export async function steer({ home }: Pick<Archive, 'home'>, { noun, verb, ids }: SteerInput): Promise<Steered> {
  const changed = await SEND[noun][verb](home, ids)
  const crawls = noun === 'crawl' ? changed : verb === 'pause' ? [] : await crawlsOfSnapshots(home.db, changed)
  if (verb === 'cancel') await reconcilePages(home, crawls, noun === 'snapshot' ? changed : undefined)
  const isWaiting = noun === 'snapshot' && verb === 'resume'
  const waitedFor = isWaiting ? await listedByIds(home.db, CRAWLS, crawls) : []
  return { changed, pausedCrawls: waitedFor.filter(({ status }) => status === 'paused').map(({ id }) => id) }
}
