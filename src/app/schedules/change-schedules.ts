import { deleteSchedules, type ListedSchedule, listSchedules } from '../../db/schedules.ts'
import { pauseSchedules, resumeSchedules, runSchedules } from '../../machines/scheduled-crawls.ts'
import type { Archive } from '../archive.ts'

/** How users change schedules. */
export type ScheduleChange = 'pause' | 'resume' | 'run' | 'remove'

export interface SchedulesChanged {
  /** The schedules as they are now; removed ones, as they were. */
  readonly changed: readonly ListedSchedule[]
  /** After `run`: the crawls that were queued, by schedule. */
  readonly crawls: ReadonlyMap<string, string>
  /** Why the others were not changed, by schedule. */
  readonly refused: ReadonlyMap<string, string>
}

/** Pauses, resumes, runs or removes schedules. */
export async function changeSchedules(
  { home: { db } }: Pick<Archive, 'home'>,
  verb: ScheduleChange,
  ids: readonly string[],
): Promise<SchedulesChanged> {
  const before = await listSchedules(db, ids)
  const known = before.map(({ id }) => id)
  if (verb === 'run') {
    const done = await runSchedules(db, known)
    const crawls = new Map(done.flatMap(({ id, crawlId }) => (crawlId ? [[id, crawlId] as const] : [])))
    const refused = new Map(done.flatMap(({ id, refused }) => (refused ? [[id, refused] as const] : [])))
    return { changed: crawls.size > 0 ? await listSchedules(db, [...crawls.keys()]) : [], crawls, refused }
  }
  const send = { pause: pauseSchedules, resume: resumeSchedules, remove: deleteSchedules }[verb]
  const done = await send(db, known)
  const others = before.filter(({ id }) => !done.includes(id))
  const removed = verb === 'remove' ? before.filter(({ id }) => done.includes(id)) : undefined
  return {
    changed: removed ?? (done.length > 0 ? await listSchedules(db, done) : []),
    crawls: new Map(),
    refused: new Map(others.map(({ id, status }) => [id, `is ${status} already`] as const)),
  }
}
