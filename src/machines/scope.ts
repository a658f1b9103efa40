import { type Database, kyselySql } from '../db/database.ts'

export const WORK_KINDS = ['crawl', 'snapshot', 'binary'] as const
export type WorkKind = (typeof WORK_KINDS)[number]

/** Which rows a runner and its workers work on. The empty one: all. */
export interface WorkScope {
  /** Only these crawls. */
  readonly crawlIds?: readonly string[]
  /** Only these snapshots, and of crawls only what they need. */
  readonly snapshotIds?: readonly string[]
  /**
   * Rows of these kinds are left alone. Without crawls there are no snapshots either: those are worked on below their
   * crawl.
   */
  readonly exclude?: readonly WorkKind[]
}

/** A condition of a statement: its text, with parameters numbered from `first` on, and their values. */
export interface Condition {
  readonly text: (first: number) => string
  readonly values: readonly unknown[]
}

/** All of these. */
export function allOf(conditions: readonly Condition[]): Condition {
  const text = (first: number) => {
    let at = first
    return conditions.map(({ text, values }) => {
      const part = text(at)
      at += values.length
      return part
    })
  }
  return { text: (first) => text(first).join(' and ') || 'true', values: conditions.flatMap(({ values }) => values) }
}

export function leavesAlone(scope: WorkScope, kind: WorkKind): boolean {
  return scope.exclude?.includes(kind) ?? false
}

/** The crawls, called `work`, with which something is to be done. */
export function crawlsWithin(scope: WorkScope): Condition {
  const open = "select 1 from snapshot s where s.crawl_id = work.id and s.status in ('queued', 'started', 'paused')"
  const { crawlIds, snapshotIds } = scope
  return allOf([
    ...(leavesAlone(scope, 'crawl') ? [{ text: () => 'false', values: [] }] : []),
    ...(crawlIds ? [{ text: (first: number) => `work.id = any($${first}::uuid[])`, values: [crawlIds] }] : []),
    // Its URLs become pages; when those are not to be worked on, it is left until somebody else has.
    ...(leavesAlone(scope, 'snapshot')
      ? [{ text: () => `(work.status = 'queued' or work.next_part is not null or not exists (${open}))`, values: [] }]
      : []),
    ...(snapshotIds
      ? [
          {
            text: (first: number) =>
              `(exists (${open} and s.status <> 'paused' and s.id = any($${first}::uuid[])) or not exists (${open}))`,
            values: [snapshotIds],
          },
        ]
      : []),
  ])
}

/** The snapshots, called `work`, that are to be archived. */
export function snapshotsWithin({ snapshotIds }: WorkScope): Condition {
  return snapshotIds
    ? { text: (first) => `work.id = any($${first}::uuid[])`, values: [snapshotIds] }
    : { text: () => 'true', values: [] }
}

/** Are all pages of a crawl within? */
export function allPagesWithin(scope: WorkScope): boolean {
  return scope.snapshotIds === undefined && !leavesAlone(scope, 'snapshot')
}

/** Is a crawl, whose claim we have, still one with which something is to be done? */
export async function isWithin(db: Database, scope: WorkScope, crawlId: string): Promise<boolean> {
  const within = crawlsWithin(scope)
  const text = `select 1 from crawl work where work.id = $1 and ${within.text(2)}`
  return (await kyselySql(db).query({ name: 'within', text }, [crawlId, ...within.values])).length > 0
}

/** Is there work for a leader: crawls that are due, and those that are due, owned, or due within `soonMs`. */
export async function openCrawls(
  db: Database,
  scope: WorkScope,
  soonMs: number,
): Promise<{ due: number; open: number }> {
  const within = crawlsWithin(scope)
  const text = `
    select count(*) filter (where retry_at <= now()) as due,
           count(*) filter (where claimed_by is not null or retry_at <= now() + make_interval(secs => $1)) as open
    from crawl work where work.status in ('queued', 'started') and ${within.text(2)}`
  const [row] = await kyselySql(db).query<{ due: number; open: number }>({ name: 'open crawls', text }, [
    soonMs / 1000,
    ...within.values,
  ])
  return row!
}
