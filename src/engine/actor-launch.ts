import type { Supervised } from './supervised.ts'

/** What an actor is started with: its identity, and what its pool passes on. */
export interface Launch {
  /** A fresh UUID: pass it to the actor as `owner`, so that its rows are released when it dies. */
  readonly owner: string
  /** Its channel to the pool: pass it to the actor, so that the pool knows what the actor is doing. */
  readonly supervised: Supervised
  /** For tables without an owner column: pass it to the actor as `onClaiming`. */
  readonly onClaiming: (token: string) => void
  /** The pool's `launch`. */
  readonly with: Readonly<Record<string, unknown>>
}

/** Anything that runs until it is told to stop: an actor or a runner. */
export interface Loop {
  run(options: { readonly signal: AbortSignal; readonly force: AbortSignal }): Promise<unknown>
}

/** The environment variable with an actor's launch. */
export const LAUNCH_ENV = 'ENGINE_ACTOR_LAUNCH'
