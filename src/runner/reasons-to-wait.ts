import type { Home } from '../db/home.ts'
import { isRunner, type LiveRow } from '../db/processes.ts'
import { hasSuccessor, type Place } from '../db/runners.ts'
import { presentRows } from '../processes/presence.ts'
import { holdOffToRespect, type LeadHoldOff } from './lead-hold-off.ts'
import { foregroundRunnerOwner, liveRunnerProcesses } from './ownership.ts'

/** A runner that waits. */
export interface Waiter {
  readonly home: Home
  readonly me: Place
  /** The command whose daemon it is; undefined for a standalone one. */
  readonly ownerId: string | undefined
}

/** A reason why a runner does not come to the gate yet. It ends when nobody is in the way any more. */
export interface Reason<Row extends LiveRow = LiveRow> {
  /** All that are in the way; the last one is named. `succeeded`: a newer runner leads, and our turn will not come. */
  inTheWay(waiter: Waiter): Promise<readonly Row[] | 'succeeded'>
  /** Why we wait, for the log and for `status`. */
  says(row: Row): string
  /** How often the rows are looked at, in ms; the kernel tells of an end on this machine within 100 ms. */
  readonly lookMs: number
}

export type ReasonName = keyof typeof REASONS

/** All reasons to wait. Which of them a runner has, and in which order, is in candidacy.ts. */
export const REASONS = {
  /** A newer command (`add --run`) borrows the runner from a server, and gives it back by ending. */
  'for its owner': {
    inTheWay: async ({ home, ownerId }) => {
      const newest = await foregroundRunnerOwner(home)
      return newest && newest.id !== ownerId ? [newest] : []
    },
    says: hasTheRunner,
    lookMs: 2_000,
  } satisfies Reason,

  /** Another supervisor competes with ours: its leader may keep the lead for a while. */
  'holds off': {
    inTheWay: async ({ home }) => {
      const leader = await holdOffToRespect(home)
      return leader ? [leader] : []
    },
    says: ({ pid, leftSeconds, takeovers }) =>
      `two supervisors restart runners against each other (superseded ${takeovers} times lately): ` +
      `leaving the lead to pid ${pid} for ${Math.ceil(leftSeconds)} s; stop one of the two`,
    lookMs: 2_000,
  } satisfies Reason<LeadHoldOff>,

  /** It leads when there is no other runner, nor a newer one that stands by as well. */
  'for others': {
    inTheWay: async ({ home, me }) =>
      (await presentRows(home)).filter(
        (row) => row.id !== me.id && isRunner(row) && (!row.standby || row.seq > me.seq),
      ),
    says: hasTheRunner,
    lookMs: 2_000,
  } satisfies Reason,

  /** It has handed over. It exits when the newer one leads, or has led and ended in order; else it leads again. */
  'for a newer one to lead': {
    inTheWay: async ({ home, me }) => {
      const newer = (await liveRunnerProcesses(home)).filter(({ id, seq }) => id !== me.id && seq > me.seq)
      const leads =
        newer.length > 0
          ? newer.some(({ worker_type }) => worker_type === 'worker_runner')
          : await hasSuccessor(home, me.id)
      return leads ? 'succeeded' : newer
    },
    says: ({ pid }) => `exiting as soon as runner pid ${pid} leads`,
    lookMs: 50, // A takeover is a matter of moments.
  } satisfies Reason,
}

function hasTheRunner({ process_type, pid }: LiveRow): string {
  const what = process_type === 'server' ? 'server and runner' : 'runner'
  return `${process_type} pid ${pid} has the ${what}: standing by; work resumes here when it ends`
}
