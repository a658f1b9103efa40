import { sql } from 'kysely'
import { transact } from '../db/retry.ts'
import { ClaimLost } from '../engine/claimed.ts'
import { finalStates } from '../engine/machine.ts'
import { archiveResultMachine } from './archive-result.ts'
import { movedRows } from './moved.ts'
import type { Owner, SnapshotClaim } from './queues.ts'
import { owned } from './results.ts'

/**
 * A claimed page that another node has begun, which no longer works, or has published nothing: all its hooks are queued
 * again, since none can read there, and the older folder goes when the page is archived here (`file_job`). A page of
 * ours stays as it is. Throws ClaimLost.
 * @returns the claim of a page that is nobody's, or ours
 */
export async function takePageHome<Claim extends SnapshotClaim>(owner: Owner, claim: Claim): Promise<Claim> {
  const { home_node: was } = claim.row
  if (was === null || was === owner.home.dataDirId) return claim
  await transact(owner.home.db, async (tx) => {
    const { rows } = await sql`
      with ${owned(owner, claim)}, asked as (
        insert into file_job (node_id, what, ids)
        select node.id, 'page', array[snapshot.id] from snapshot join node on node.id = home_node
        where snapshot.id = (select id from mine) and home_node = ${was}
      ), homeless as (
        update snapshot set home_node = null where id = (select id from mine) and home_node = ${was} returning id
      ), ${movedRows(archiveResultMachine, {
        as: 'again',
        rows: sql`array(select id from latest_result where snapshot_id = (select id from homeless))`,
        from: finalStates(archiveResultMachine),
        event: 'repeat',
        by: sql`${owner.processId}::uuid`,
      })}
      select id from mine, (select count(*) from again) as counted`.execute(tx)
    if (rows.length === 0) throw new ClaimLost(`snapshot ${claim.id} was taken away`)
    await sql`
      update archive_result set output_files = '{}', output_size = 0, node_id = null
      where snapshot_id = ${claim.id} and node_id is distinct from ${owner.home.dataDirId}`.execute(tx)
  })
  return { ...claim, row: { ...claim.row, home_node: null } }
}
