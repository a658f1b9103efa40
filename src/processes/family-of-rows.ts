import { identityIn, type ProcessRow } from '../db/processes.ts'
import { cgroupIn } from './containment/cgroup.ts'
import type { Family } from './family.ts'
import { marksOf } from './marks.ts'

/** What belongs to the processes of these rows, as far as the rows name processes that were really ours. */
export function familyOfRows(rows: readonly ProcessRow[]): Family {
  return {
    roots: rows.flatMap((row) => identityIn(row) ?? []),
    markers: rows.flatMap(({ id }) => marksOf(id)),
    cgroups: rows.flatMap(cgroupIn),
  }
}
