import { type Family, killFamily, killLeftovers, membersOf, signalMembers } from './family.ts'
import type { ProcEntry } from './proc.ts'

/** How a family ended. */
export interface FamilyEnd<T> {
  /** What the wait returned; undefined: its time was over, and the family was killed. */
  readonly exit: T | undefined
  /** Processes that are still there all the same. */
  readonly survivors: readonly ProcEntry[]
}

/**
 * Ends a family politely: SIGTERM to all its members, parents first, so that none takes the end of another for an
 * ordinary one; a wait, as long as the caller grants one; then SIGKILL for the whole family, or for what it left
 * behind.
 * @param untilEnded waits for the end of those that were asked; undefined when it did not come in time, or proves
 * nothing
 */
export async function endFamily<T>(
  family: Family,
  untilEnded: (members: readonly ProcEntry[]) => Promise<T | undefined>,
): Promise<FamilyEnd<T>> {
  const members = await membersOf(family)
  await signalMembers(
    members.toSorted((a, b) => a.startTicks - b.startTicks),
    'SIGTERM',
  )
  const exit = await untilEnded(members)
  const survivors = exit === undefined ? await killFamily(family) : await killLeftovers(family)
  return { exit, survivors }
}
