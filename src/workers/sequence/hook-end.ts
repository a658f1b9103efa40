import type { PublishedFiles } from '../../db/tables.ts'
import type { Hook } from '../../hooks/discover.ts'
import type { HostedEnd } from '../../hooks/hosted-ends.ts'
import type { Exit, RunningHook } from '../../hooks/launch.ts'
import type { EndCause, HookExit } from './hook-settle.ts'

/** The end of one hook, ready to be settled. */
export interface HookEnd extends HookExit {
  readonly hook: Hook
  readonly processId: string
  /** By `performance.now()`; undefined when the hook has only just begun. */
  readonly began?: number
  readonly ended?: number
  /** Its files are published already. */
  readonly published?: PublishedFiles | undefined
  /** Resolves when its process's row has the end; undefined when it has. */
  readonly recorded?: Promise<void>
}

export function hostedEnd({ cause, ...end }: HostedEnd, processId: string): HookEnd {
  return { ...end, processId, cause: cause === 'force' ? 'interrupt' : cause }
}

export function endOf({ hook, logs, processId, recorded }: RunningHook, exit: Exit, cause: EndCause): HookEnd {
  return { hook, exit, cause, logs, processId, recorded }
}
