import type { CrawlRow } from '../db/crawls.ts'
import { kyselySql } from '../db/database.ts'
import type { Home } from '../db/home.ts'
import type { SnapshotRow } from '../db/snapshots.ts'
import type { QueueOptions } from '../engine/claim-statements.ts'
import type { Machine } from '../engine/machine.ts'
import { type Claimed, Queue } from '../engine/queue.ts'
import { crawlMachine } from './crawl.ts'
import { allOf, type Condition, crawlsWithin, snapshotsWithin, type WorkScope } from './scope.ts'
import { snapshotMachine } from './snapshot.ts'

/** Who claims: a process of ours, in the term of the runner that it works for. */
export interface Owner {
  readonly home: Home
  readonly processId: string
  readonly term: number
}

export type CrawlClaim<S extends 'queued' | 'started' = 'queued' | 'started'> = Claimed<typeof crawlMachine, S, CrawlRow>
export type SnapshotClaim<S extends 'queued' | 'started' = 'queued' | 'started'> = Claimed<typeof snapshotMachine, S, SnapshotRow>

/** The models whose rows are claimed. */
const CLAIMED = [crawlMachine, snapshotMachine] as const

/** A queue as one owner uses it: its claims carry its name and hold only in its term. */
export class OwnedQueue<M extends Machine, Row> extends Queue<M, Row> {
  readonly #owner: Owner
  readonly #values: readonly unknown[]

  constructor(owner: Owner, machine: M, where: Condition) {
    const options: QueueOptions = { ...FENCE, where: where.text, whereValues: where.values.length }
    super(machine, kyselySql(owner.home.db), options)
    this.#owner = owner
    this.#values = [...where.values, owner.home.dataDirId, owner.term]
  }

  /** Claims the row that has been due the longest. */
  async next() {
    const [claim] = await this.claim({ owner: this.#owner.processId, values: this.#values })
    return claim
  }
}

// Every claim locks the term's row FOR SHARE while it is made: none of an older term slips past a promotion.
const FENCE: QueueOptions = {
  fence: (first) => `select 1 from runner_term where data_dir_id = $${first} and term = $${first + 1}`,
}

/** The crawls within a scope. */
export function crawlQueue(owner: Owner, scope: WorkScope): OwnedQueue<typeof crawlMachine, CrawlRow> {
  return new OwnedQueue(owner, crawlMachine, crawlsWithin(scope))
}

/** The snapshots within a scope of the crawls that a crawl worker has claimed. */
export function snapshotQueue(owner: Owner, crawlWorkerId: string, scope: WorkScope): OwnedQueue<typeof snapshotMachine, SnapshotRow> {
  const text = (first: number) => `work.crawl_id in (select id from crawl where claimed_by = $${first})`
  return new OwnedQueue(owner, snapshotMachine, allOf([{ text, values: [crawlWorkerId] }, snapshotsWithin(scope)]))
}

/**
 * Makes due again what these processes had claimed. Only for owners that the operating system has proved dead.
 * @returns how many rows
 */
export async function requeueClaimsOf(db: Home['db'], deadProcessIds: readonly string[]): Promise<number> {
  let requeued = 0
  for (const machine of CLAIMED) requeued += await new Queue<Machine>(machine, kyselySql(db)).requeueClaimsOf(deadProcessIds)
  return requeued
}
