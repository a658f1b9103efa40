import type { Bell } from '../base/abort.ts'
import type { Stop } from '../base/stop.ts'
import type { ActorMode, ActorSlot, Exit } from './actor-slot.ts'
import type { QueueOptions } from './claim-statements.ts'
import type { Machine } from './machine.ts'
import type { Sql } from './sql.ts'

export interface ActorPoolOptions {
  readonly sql: Sql
  readonly machine: Machine
  /** Which rows count as waiting: the same as for the actors. */
  readonly queue?: QueueOptions
  readonly values?: () => readonly unknown[]
  readonly actors: ActorMode
  /** What its actors are called where it speaks of one. */
  readonly name?: string
  readonly maxConcurrentActors?: number
  /** How many actors its own may have together, below pools of their own; not bounded when not given. */
  readonly slots?: number | undefined
  /** Handed on to each actor; text for a process, so nothing but JSON. */
  readonly launch?: Readonly<Record<string, unknown>>
  /** How often `run` looks at the queue. */
  readonly tickMs?: number
  /** How long a drain of `run` waits for ticks to end before it forces. */
  readonly drainMs?: number
  /** `run` leaves when nothing is due and no actor is left. */
  readonly exitOnIdle?: boolean
  /** For callers with a loop of their own: what they are told to do, and what rings when the pool has news. */
  readonly stop?: Stop
  readonly bell?: Bell
  /** After an actor is gone: has what it had claimed due again. Nobody takes its place before. */
  readonly reap?: (actor: ActorSlot, exit: Exit) => Promise<void>
  readonly onNote?: (note: unknown) => void
  readonly onError?: (error: Error) => void
}
