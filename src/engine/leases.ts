import { inOrder } from './batch.ts'
import { type Claimed, ClaimLost, type Held } from './claimed.ts'
import {
  forgetStatement,
  holdersStatement,
  releaseStatement,
  renewStatement,
  requeueStatement,
  updateStatement,
} from './lease-statements.ts'
import type { Machine, WorkState } from './machine.ts'
import { Transitions } from './transitions.ts'

/** How long the claimed rows of a table belong to their owners. Every method is one guarded statement. */
export class Leases<M extends Machine, Row = Record<string, unknown>> extends Transitions<M, Row> {
  /** Renews claims for another lease. @returns the ids that are still ours; the others are lost */
  async renew(claims: readonly Held[], leaseSeconds = this.machine.leaseSeconds): Promise<Set<string>> {
    const rows = await this.sql.query<{ id: string }>(
      this.once('renew', () => renewStatement(this.machine)),
      [...inOrder(claims, (held) => held.id, [({ id }) => id, ({ token }) => token]), leaseSeconds],
    )
    return new Set(rows.map(({ id }) => id))
  }

  /**
   * Writes other columns of a claimed row. Throws ClaimLost when the row is no longer ours or in that state; TypeError
   * for a column of the engine.
   */
  async update(claim: Claimed<M, WorkState<M>, Row>, fields: Partial<Row>): Promise<void> {
    const names = Object.keys(fields)
    if (names.length === 0) return
    const statement = updateStatement(this.machine, names)
    const rows = await this.sql.query(statement, [claim.id, claim.token, claim.state, ...Object.values(fields)])
    if (rows.length !== 1) throw new ClaimLost(`${this.machine.name} ${claim.id}: update in "${claim.state}"`)
  }

  /**
   * Releases a row in its state, due again after `afterMs`. `blame`: the attempt counts, because it failed; else it was
   * only postponed. False: it was no longer ours.
   */
  async release(claim: Held, afterMs = 0, blame = false): Promise<boolean> {
    const statement = this.once('release', () => releaseStatement(this.machine))
    return await this.retry(
      async () => (await this.sql.query(statement, [claim.id, claim.token, afterMs / 1000, blame])).length === 1,
    )
  }

  /** This attempt made progress: earlier ones no longer count. */
  async forgetAttempts(claim: Held): Promise<void> {
    const statement = this.once('forget', () => forgetStatement(this.machine))
    await this.retry(() => this.sql.query(statement, [claim.id, claim.token]))
  }

  /** Which of these owners hold a row, and whether a lease ended `seconds` ago, so that its owner is stuck. */
  async holders(owners: readonly string[], seconds: number): Promise<{ owner: string; late: boolean }[]> {
    if (owners.length === 0 || this.machine.columns.owner === undefined) return []
    const statement = this.once('holders', () => holdersStatement(this.machine))
    return await this.retry(() => this.sql.query<{ owner: string; late: boolean }>(statement, [owners, seconds]))
  }

  /**
   * Makes the claims of dead owners due again (their tokens, where the table has no owner). `blame`: the attempt
   * counts, since they may have died of it. @returns how many rows
   */
  async requeueClaimsOf(owners: readonly string[], blame = true): Promise<number> {
    if (owners.length === 0) return 0
    const statement = this.once('requeue', () => requeueStatement(this.machine))
    return (await this.sql.query(statement, [owners, blame])).length
  }
}
