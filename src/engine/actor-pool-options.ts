import type { Bell } from '../base/abort.ts'
import type { Stop } from '../base/stop.ts'
import type { ActorMode, ActorSlot, Exit } from './actor-slot.ts'
import type { QueueOptions } from './claim-statements.ts'
import type { Machine } from './machine.ts'
import type { Sql } from './sql.ts'

export interface ActorPoolOptions {
  readonly sql: Sql
  readonly machine: Machine
  /** Which rows count as waiting; the same as for the actors. */
  readonly queue?: QueueOptions
  readonly values?: () => readonly unknown[]
  readonly actors: ActorMode
  /** The name of its actors in messages. */
  readonly name?: string
  readonly maxConcurrentActors?: number
  /** The limit of actors in the pools below its actors, all together; undefined: no limit. */
  readonly slots?: number | undefined
  /** Passed on to each actor as JSON. */
  readonly launch?: Readonly<Record<string, unknown>>
  /** How often `run` checks the queue. */
  readonly tickMs?: number
  /** How long a drain of `run` waits for ticks before it forces them to stop. */
  readonly drainMs?: number
  /** `run` returns when nothing is due and no actor is left. */
  readonly exitOnIdle?: boolean
  /** For callers with a loop of their own: the stop that they obey, and a bell that rings when the pool has news. */
  readonly stop?: Stop
  readonly bell?: Bell
  /** Called when an actor has died, to make its claims due again. It is not replaced before this resolves. */
  readonly reap?: (actor: ActorSlot, exit: Exit) => Promise<void>
  readonly onNote?: (note: unknown) => void
  readonly onError?: (error: Error) => void
}
