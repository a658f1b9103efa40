import { kyselySql } from '../db/database.ts'
import type { Home } from '../db/home.ts'
import { crawlMayWorkHere, drains, pageMayWorkHere } from '../db/nodes.ts'

export const WORK_KINDS = ['crawl', 'snapshot', 'binary'] as const
export type WorkKind = (typeof WORK_KINDS)[number]

/** The rows that a runner and its workers work on; empty: all. */
export interface WorkScope {
  /** Only these crawls. */
  readonly crawlIds?: readonly string[]
  /** Only these snapshots, and of crawls only what they need. */
  readonly snapshotIds?: readonly string[]
  /** Rows of these kinds are not worked on. Excluding crawls excludes their snapshots, too. */
  readonly exclude?: readonly WorkKind[]
}

/** A condition in SQL: its text, with parameters numbered from `first` on, and their values. */
export interface Condition {
  readonly text: (first: number) => string
  readonly values: readonly unknown[]
}

/**
 * Always true: makes the planner find the first rows along an index, whatever it knows of the table (migration 0033).
 */
export const IN_INDEX_ORDER: Condition = { text: () => 'in_index_order()', values: [] }

/** All of these conditions. */
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

export function excludes(scope: WorkScope, kind: WorkKind): boolean {
  return scope.exclude?.includes(kind) ?? false
}

/** A node begins nothing while somebody drains it. */
export const unlessDrained = (dataDirId: string): Condition => ({
  text: (first) => `not ${drains(`$${first}`)}`,
  values: [dataDirId],
})

/** The pages, named `work`, that a node may work on. */
export const pagesOnNode = (dataDirId: string): Condition => ({
  text: (first) => pageMayWorkHere('work', `$${first}`),
  values: [dataDirId],
})

/** The crawls, named `work`, that need work from a node. */
export function crawlsWithin(scope: WorkScope, dataDirId: string): Condition {
  const open = "select 1 from snapshot s where s.crawl_id = work.id and s.status in ('queued', 'started', 'paused')"
  const { crawlIds, snapshotIds } = scope
  return allOf([
    { text: (first) => crawlMayWorkHere('work', `$${first}`), values: [dataDirId] },
    ...(excludes(scope, 'crawl') ? [{ text: () => 'false', values: [] }] : []),
    ...(crawlIds ? [{ text: (first: number) => `work.id = any($${first}::uuid[])`, values: [crawlIds] }] : []),
    // The crawl has URLs to expand; if the scope excludes snapshots it waits until another runner has expanded it.
    ...(excludes(scope, 'snapshot')
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

/** The snapshots, named `work`, to be archived: chosen ones by their ids, others in their order. */
export function snapshotsWithin({ snapshotIds }: WorkScope): Condition {
  return snapshotIds ? { text: (first) => `work.id = any($${first}::uuid[])`, values: [snapshotIds] } : IN_INDEX_ORDER
}

/** Whether the scope contains all pages of a crawl. */
export function allPagesWithin(scope: WorkScope): boolean {
  return scope.snapshotIds === undefined && !excludes(scope, 'snapshot')
}

/** Whether a crawl that we have claimed still needs work within the scope. */
export async function isWithin(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  scope: WorkScope,
  crawlId: string,
): Promise<boolean> {
  const within = crawlsWithin(scope, dataDirId)
  const text = `select 1 from crawl work where work.id = $1 and ${within.text(2)}`
  return (await kyselySql(db).query({ name: 'within', text }, [crawlId, ...within.values])).length > 0
}

/** The crawls with work for a node's leader: how many are due, and how many are due, owned, or due within `soonMs`. */
export async function openCrawls(
  { db, dataDirId }: Pick<Home, 'db' | 'dataDirId'>,
  scope: WorkScope,
  soonMs: number,
): Promise<{ due: number; open: number }> {
  const within = allOf([unlessDrained(dataDirId), crawlsWithin(scope, dataDirId)])
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
