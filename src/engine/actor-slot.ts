import { type ChildProcess, fork } from 'node:child_process'
import { uuidv7 } from '../base/ids.ts'
import { LAUNCH_ENV, type Launch, type Loop } from './actor-launch.ts'
import type { FromActor, ToActor } from './actor-messages.ts'
import { asError } from './as-error.ts'
import { Supervised } from './supervised.ts'

/** How an actor ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: string | null
  /** The error of a loop in this process, or why a process could not be started. */
  readonly error?: Error
  /** It shared its process with other actors of the same owner, which go on: it left nothing behind. */
  readonly othersGoOn?: true
}

/** A running actor, whatever way it was started. */
export interface ActorBody {
  /** The owner whose claims are released when it dies (a UUID). Actors that share a process have the same one. */
  readonly owner: string
  readonly pid: number | undefined
  /** Resolves when it has exited. Never rejects. */
  readonly gone: Promise<Exit>
  send(order: ToActor): void
  listen(hear: (message: FromActor) => void): void
  kill(): void
}

/**
 * How a pool starts its actors: each in its own process, from a module that calls `serveActor`; as loops in this
 * process; or by a function of the caller.
 */
export type ActorMode =
  | {
      readonly mode: 'process'
      readonly module: string | URL
      /** Options for Node itself; by default those of this process. */
      readonly execArgv?: readonly string[]
      readonly env?: Readonly<Record<string, string>>
    }
  | { readonly mode: 'thread'; readonly actor: (launch: Launch) => Loop | Promise<Loop> }
  | {
      readonly mode: 'custom'
      /** @returns undefined when none can be started now */
      readonly start: () => Promise<ActorBody | undefined>
      /** Called, and awaited, once the pool has the actor. */
      readonly started?: (body: ActorBody) => Promise<void>
    }

/** A process that survives a SIGKILL for this long waits inside the kernel: nobody can end it. */
const SURVIVAL_MS = 5_000

/** One actor, as its pool sees it. */
export class ActorSlot {
  readonly body: ActorBody
  /** `starting` until its first report: it will look for work by itself. */
  state: 'starting' | 'idle' | 'busy' = 'starting'
  /**
   * When it was last started or woken without an answer since (monotonic milliseconds); undefined once it has answered.
   */
  askedAt: number | undefined = performance.now()
  /** How long its work may go on without another report. */
  busyUntil = Number.POSITIVE_INFINITY
  /** The token of its last claim, if it reported one. */
  token: string | undefined
  /** Monotonic milliseconds. */
  #killedAt: number | undefined

  constructor(body: ActorBody) {
    this.body = body
  }

  get owner(): string {
    return this.body.owner
  }

  get pid(): number | undefined {
    return this.body.pid
  }

  /** Whether its process was killed before. */
  get isKilled(): boolean {
    return this.#killedAt !== undefined
  }

  /** Whether its process has survived that. */
  get hasSurvived(): boolean {
    return this.pid !== undefined && performance.now() - (this.#killedAt ?? Number.POSITIVE_INFINITY) > SURVIVAL_MS
  }

  kill(): void {
    this.#killedAt ??= performance.now()
    this.body.kill()
  }

  /** Sends an order that is answered within moments. */
  ask(order: ToActor): void {
    this.askedAt ??= performance.now()
    this.body.send(order)
  }

  /** Records a report. */
  heard(message: FromActor): void {
    this.askedAt = undefined
    if (message.type === 'claiming') this.token = message.token
    if (message.type === 'idle') this.state = 'idle'
    if (message.type === 'busy' || message.type === 'claiming') this.state = 'busy'
    if (message.type === 'busy') this.busyUntil = performance.now() + message.forMs
    if (message.type === 'idle' || message.type === 'progress') this.busyUntil = Number.POSITIVE_INFINITY
  }
}

/** Starts an actor. @returns undefined when none can be started now */
export async function startActor(
  how: ActorMode,
  launchWith: Readonly<Record<string, unknown>>,
): Promise<ActorBody | undefined> {
  if (how.mode === 'process') return startProcess(how, launchWith)
  return how.mode === 'thread' ? startThread(how, launchWith) : await how.start()
}

/** A child process with a channel, as an actor. */
export function processBody(owner: string, child: ChildProcess): ActorBody {
  return {
    owner,
    pid: child.pid,
    gone: new Promise((resolve) => {
      child.on('error', (error) => {
        if (child.pid === undefined) resolve({ code: null, signal: null, error }) // There will be no exit event.
      })
      child.once('exit', (code, signal) => resolve({ code, signal }))
    }),
    // A channel that has just closed means that the actor is exiting.
    send: (order) => {
      if (child.connected) child.send(order, () => {})
    },
    listen: (hear) => child.on('message', hear),
    kill: () => child.kill('SIGKILL'),
  }
}

function startProcess(how: ActorMode & { mode: 'process' }, launchWith: Readonly<Record<string, unknown>>): ActorBody {
  const owner = uuidv7()
  const child = fork(how.module, {
    // Passed on whole: the engine has no settings of its own, and cannot know what the module needs.
    env: { ...process.env, ...how.env, [LAUNCH_ENV]: JSON.stringify({ owner, with: launchWith }) },
    ...(how.execArgv ? { execArgv: [...how.execArgv] } : {}),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  return processBody(owner, child)
}

function startThread(how: ActorMode & { mode: 'thread' }, launchWith: Readonly<Record<string, unknown>>): ActorBody {
  const owner = uuidv7()
  let hear: ((message: FromActor) => void) | undefined
  const tell = (message: FromActor) => hear?.(message)
  const supervised = new Supervised(tell)
  const live = async () => {
    const onClaiming = (token: string) => tell({ type: 'claiming', token })
    const loop = await how.actor({ owner, supervised, onClaiming, with: launchWith })
    await loop.run({ signal: supervised.stop.drain, force: supervised.stop.force })
  }
  return {
    owner,
    pid: undefined,
    gone: live()
      .then(
        () => ({ code: 0, signal: null }),
        (error) => ({ code: 1, signal: null, error: asError(error) }),
      )
      .finally(() => supervised.close()),
    send: (order) => supervised.hear(order),
    listen: (listener) => {
      hear = listener
    },
    kill: () => supervised.stop.requestForce(),
  }
}
