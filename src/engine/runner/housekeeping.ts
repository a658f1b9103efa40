import type { Producer } from './producer.ts'

/** Rows per statement of housekeeping: few, so that no row is locked for long. */
const BATCH = 500

/** Moves rows along their timeouts, in small batches until none is due. @returns whether any was */
export async function expire(
  { queue, counts, machine }: Producer,
  by: string | null,
  signal?: AbortSignal,
): Promise<boolean> {
  let any = false
  for (const [state, { timeout }] of Object.entries(machine.states)) {
    if (!timeout) continue
    for (let moved = BATCH; moved === BATCH && !signal?.aborted; ) {
      moved = await queue.expireState(state, BATCH, by)
      if (moved > 0)
        counts.stepped({ from: state, event: 'timeout', to: timeout.to, afterSeconds: null, attempts: 0 }, moved)
      any ||= moved > 0
    }
  }
  return any
}

/** Deletes rows whose time in their state is over, in small batches until none is left. */
export async function deleteOld({ queue, counts }: Producer, signal?: AbortSignal): Promise<void> {
  for (let deleted = BATCH; deleted >= BATCH && !signal?.aborted; ) {
    deleted = await queue.deleteOld(BATCH)
    counts.deleted += deleted
  }
}
