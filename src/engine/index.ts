export { Actor } from './actor.ts'
export { ObjectAlreadyClaimed, QueueIsEmpty } from './actor-claims.ts'
export type { Launch, Loop } from './actor-launch.ts'
export type { FromActor, ToActor } from './actor-messages.ts'
export { ACTOR_DEFAULTS, type ActorHooks, type ActorOptions } from './actor-options.ts'
export { ActorPool } from './actor-pool.ts'
export type { ActorPoolOptions } from './actor-pool-options.ts'
export { type ActorBody, type ActorMode, type ActorSlot, type Exit, processBody } from './actor-slot.ts'
export { type Birth, born } from './born.ts'
export type { ClaimOptions, QueueOptions, Retry } from './claim-statements.ts'
export type { AnyClaimed, Claimed, Moved, SomeClaim } from './claimed.ts'
export { ClaimLost } from './claimed.ts'
export type { ModelSummary } from './counts.ts'
export type { OnError } from './executor-options.ts'
export {
  type Answer,
  type Context,
  type Handled,
  type Handler,
  type Handlers,
  type Model,
  withHandlers,
} from './handlers.ts'
export {
  type AnyEventOf,
  type Columns,
  defineMachine,
  type EventOf,
  type FinalState,
  finalStates,
  GraphError,
  LEASE_SECONDS,
  type LiveState,
  type Machine,
  type ReopenOf,
  type Setting,
  type State,
  type Target,
  type WorkState,
  workStates,
} from './machine.ts'
export { type EachMove, type Move, type MoveOf, moved, movedEach } from './moved.ts'
export {
  type Again,
  again,
  ENDED,
  Ended,
  FAILED,
  Failed,
  ForeignOutcome,
  failed,
  type Outcome,
  PUT_BACK,
  PutBack,
  putBack,
  RELEASED,
  TryAgainLater,
} from './outcome.ts'
export { Queue, RETRY_AT_MAX } from './queue.ts'
export type { ModelOptions } from './runner/producer.ts'
export { Runner } from './runner/runner.ts'
export type { RunnerOptions, RunOptions } from './runner/runner-options.ts'
export { serveActor } from './runner/serve-actor.ts'
export type { Summary } from './runner/tally.ts'
export { actorsToSpawn, MAX_CONCURRENT_ACTORS } from './spawn-policy.ts'
export { pgSql, type Sql, type Statement, type Text } from './sql.ts'
export { Supervised, supervisedProcess } from './supervised.ts'
export { DeadlineExceeded } from './tick.ts'
export type { Settled } from './transitions.ts'
export { type QueueView, type ViewName, viewsOf } from './views.ts'
export { WATCHDOG_EXIT_CODE, type WatchdogOptions } from './watchdog.ts'
export { rescheduled, woken } from './woken.ts'
