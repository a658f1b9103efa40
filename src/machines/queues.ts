import { sql } from 'kysely'
import { failpoint } from '../base/failpoint.ts'
import type { BinaryRow } from '../db/binaries.ts'
import { CLAIMANTS, type ClaimedTable } from '../db/claimed-tables.ts'
import type { CrawlRow } from '../db/crawls.ts'
import { kyselySql } from '../db/database.ts'
import type { Home } from '../db/home.ts'
import { withRetry } from '../db/retry.ts'
import type { ScheduleRow } from '../db/schedules.ts'
import type { QueueOptions } from '../engine/claim-statements.ts'
import { ClaimLost, type Held } from '../engine/claimed.ts'
import type { Machine } from '../engine/machine.ts'
import { type Claimed, Queue } from '../engine/queue.ts'
import { type Text, text } from '../engine/sql.ts'
import { BEFORE_PAGE, type ClaimedPage } from './before-page.ts'
import { binaryMachine } from './binary.ts'
import { crawlMachine } from './crawl.ts'
import { woven } from './moved.ts'
import { scheduleMachine } from './schedule.ts'
import {
  allOf,
  type Condition,
  crawlsWithin,
  IN_INDEX_ORDER,
  pagesOnNode,
  snapshotsWithin,
  unlessDrained,
  type WorkScope,
} from './scope.ts'
import { snapshotMachine } from './snapshot.ts'

/** The owner of claims: a process of ours, in the term of its runner. */
export interface Owner {
  readonly home: Home
  readonly processId: string
  readonly term: number
}

export type CrawlClaim<S extends 'queued' | 'started' = 'queued' | 'started'> = Claimed<
  typeof crawlMachine,
  S,
  CrawlRow
>
export type SnapshotClaim<S extends 'queued' | 'started' = 'queued' | 'started'> = Claimed<
  typeof snapshotMachine,
  S,
  ClaimedPage
>

/** The models whose rows are claimed. */
const CLAIMED: Readonly<Record<ClaimedTable, Machine>> = {
  crawl: crawlMachine,
  snapshot: snapshotMachine,
  binary: binaryMachine,
  schedule: scheduleMachine,
}

/**
 * The queue of one owner: its claims carry its name and hold only in its term. Statements whose answer is lost are
 * repeated.
 */
export class OwnedQueue<M extends Machine, Row> extends Queue<M, Row> {
  constructor({ home, processId, term }: Owner, machine: M, where: Condition, options?: Pick<QueueOptions, 'besides'>) {
    super(machine, kyselySql(home.db), {
      ...{ ...options, ...FENCE, where: where.text, whereValues: where.values.length },
      ...{ owner: processId, values: [...where.values, home.dataDirId, term] },
      retry: (work) => withRetry(home.db, work),
    })
  }

  override async renew(claims: readonly Held[], leaseSeconds?: number): Promise<Set<string>> {
    const held = await super.renew(claims, leaseSeconds)
    await failpoint('claim.renewed')
    return held
  }
}

/** The row of a term, for as long as nobody has been promoted since. */
const currentTerm = <X = never>(dataDirId: Text<X>, term: Text<X>) =>
  text<X>`select data_dir_id from runner_term where data_dir_id = ${dataDirId} and term = ${term}`

// Every claim locks the row of its term FOR SHARE, so that no claim of an older term slips past a promotion.
const FENCE: QueueOptions = { fence: (first) => currentTerm(`$${first}`, `$${first + 1}`).join('') }

/** The crawls within a scope. */
export function crawlQueue(owner: Owner, scope: WorkScope): Queue<typeof crawlMachine, CrawlRow> {
  const { dataDirId } = owner.home
  const within = allOf([unlessDrained(dataDirId), crawlsWithin(scope, dataDirId)])
  return new OwnedQueue(owner, crawlMachine, scope.crawlIds ? within : allOf([within, IN_INDEX_ORDER]))
}

/**
 * The snapshots, within a scope, of the crawl that a crawl worker has claimed. It has one crawl at a time; this
 * condition lets the index on a crawl's due pages return them in order, so a claim costs the same however many are
 * queued.
 */
export function snapshotQueue(
  owner: Owner,
  crawlWorkerId: string,
  scope: WorkScope,
): Queue<typeof snapshotMachine, ClaimedPage> {
  const text = (first: number) => `work.crawl_id = (select id from crawl where claimed_by = $${first} limit 1)`
  const { dataDirId } = owner.home
  const where = allOf([
    ...[{ text, values: [crawlWorkerId] }, unlessDrained(dataDirId), pagesOnNode(dataDirId)],
    snapshotsWithin(scope),
  ])
  return new OwnedQueue(owner, snapshotMachine, where, { besides: BEFORE_PAGE })
}

/** The programs of the owner's machine. */
export function binaryQueue(owner: Owner): Queue<typeof binaryMachine, BinaryRow> {
  return new OwnedQueue(owner, binaryMachine, {
    text: (first) => `work.machine_id = $${first}`,
    values: [owner.home.machineId],
  })
}

/** The schedules of the whole database: whichever leader comes first. */
export function scheduleQueue(owner: Owner): Queue<typeof scheduleMachine, ScheduleRow> {
  return new OwnedQueue(owner, scheduleMachine, allOf([]))
}

/** This attempt at a page made progress: earlier ones no longer count. */
export async function forgetAttempts(db: Home['db'], claim: Held): Promise<void> {
  const queue = new Queue(snapshotMachine, kyselySql(db), { retry: (work) => withRetry(db, work) })
  await queue.forgetAttempts(claim)
}

/**
 * Makes the claims of these processes due again. Only for owners that the operating system has proved dead. Attempts do
 * not count when they, their supervisor that died with them, or their runner had been asked to hand over: they did not
 * die of their work.
 * @param blame whether attempts count otherwise
 * @returns how many rows
 */
export async function requeueClaimsOf(
  db: Home['db'],
  deadProcessIds: readonly string[],
  blame = true,
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    select id from process as dead
    where id = any(${deadProcessIds}::uuid[]) and exists (
      select from process where handoff_requested_by is not null and (id in (dead.id, dead.runner_id)
        or id = dead.parent_id and id = any(${deadProcessIds}::uuid[])))`.execute(db)
  const asked = new Set(rows.map(({ id }) => id))
  const others = deadProcessIds.filter((id) => !asked.has(id))
  let requeued = 0
  for (const machine of Object.values(CLAIMED)) {
    const queue = new Queue<Machine>(machine, kyselySql(db))
    requeued += await queue.requeueClaimsOf([...asked], false)
    requeued += await queue.requeueClaimsOf(others, blame)
  }
  return requeued
}

/**
 * For rows that were brought from elsewhere, where none of their processes runs: closes the rows of these, and makes
 * all claims due again.
 */
export async function settleRestored(tx: Home['db']): Promise<void> {
  const { rows } = await sql<{ claimed_by: string }>`${CLAIMANTS}`.execute(tx)
  const owners = rows.map(({ claimed_by }) => claimed_by)
  for (const machine of Object.values(CLAIMED))
    await new Queue<Machine>(machine, kyselySql(tx)).requeueClaimsOf(owners, false)
  await sql`
    update process set status = 'lost', ended_at = now() where status in ('starting', 'running', 'draining')`.execute(
    tx,
  )
}

/** A condition on `snapshot`: it is the page of this claim, which holds, in the current term. */
export const isOurs = ({ home, term }: Owner, { id, token }: SnapshotClaim) => sql`
  id = ${id} and claim_token = ${token}
  and exists (${woven(currentTerm(sql`${home.dataDirId}`, sql`${term}`))})`

/** The fence before actions that no statement can guard: throws ClaimLost unless claim and term are still valid. */
export async function confirmSnapshot(owner: Owner, claim: SnapshotClaim): Promise<void> {
  const { db } = owner.home
  const select = sql`select 1 from snapshot where ${isOurs(owner, claim)}`
  const { rows } = await withRetry(db, () => select.execute(db))
  if (rows.length === 0) throw new ClaimLost(`snapshot ${claim.id} is no longer ours`)
}
