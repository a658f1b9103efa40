import type { Texts } from '../../base/config.ts'
import type { LogLine } from '../../base/log.ts'
import type { FromActor, ToActor } from '../../engine/actor-messages.ts'

/** Messages from a supervisor to a worker, mostly for one of its lanes. The first one of a lane opens it. */
export type ToWorker =
  | ({ readonly lane: number } & ({ readonly open: Opening } | { readonly order: ToActor }))
  | typeof ARE_YOU_HERE

/** Answered at once with the message `here`. */
export const ARE_YOU_HERE = 'are you here'

export interface Opening {
  readonly databaseUrl: string
  readonly settings: Texts
  /** It gets ready, and claims nothing before it is told to begin. */
  readonly holds: boolean
}

/** Messages from a worker to its supervisor. */
export type FromWorker =
  | { readonly lane: number; readonly message: FromActor }
  /** This lane is over, and others are not; the last one ends with the process. `isFull`: no other is to be opened. */
  | { readonly lane: number; readonly endedWith: number; readonly isFull: boolean }
  | { readonly line: LogLine }

/** The message that lets a holding lane begin. */
export const BEGIN = 'begin'
