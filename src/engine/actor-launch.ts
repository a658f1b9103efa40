import type { Supervised } from './supervised.ts'

/** What an actor is started with: who it is, and whatever its pool was told to hand on. */
export interface Launch {
  /** A UUID of its own: give it to the actor as `owner`, so that its rows are taken from it when it dies. */
  readonly owner: string
  /** Its channel to the pool: give it to the actor, so that the pool knows what it is at. */
  readonly supervised: Supervised
  /** For tables without an owner column: give it to the actor as `onClaiming`. */
  readonly onClaiming: (token: string) => void
  /** The pool's `launch`. */
  readonly with: Readonly<Record<string, unknown>>
}

/** Anything that works until it is told to stop: an actor, or a runner. */
export interface Loop {
  run(options: { readonly signal: AbortSignal; readonly force: AbortSignal }): Promise<unknown>
}

/** Where an actor's process finds its launch. */
export const LAUNCH_ENV = 'ENGINE_ACTOR_LAUNCH'
