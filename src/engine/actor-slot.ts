import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { type FromActor, LAUNCH_ENV, type Launch, type Loop, type ToActor } from './actor-launch.ts'
import { asError } from './executor.ts'

/** How actors of a pool are started: each in a process of its own, from a module that calls `serveActor`; or as loops in this one. */
export type ActorMode =
  | {
      readonly mode: 'process'
      readonly module: string | URL
      /** Options of Node itself; those of this process when not given. */
      readonly execArgv?: readonly string[]
      readonly env?: Readonly<Record<string, string>>
    }
  | { readonly mode: 'thread'; readonly actor: (launch: Launch) => Loop | Promise<Loop> }

/** One running actor, as its pool sees it. */
export interface ActorSlot {
  readonly owner: string
  readonly pid: number | undefined
  /** The token of its last claim, if it told. */
  readonly token: string | undefined
  /** Resolves when it is gone: with nothing when it left by itself, with what happened otherwise. Never rejects. */
  readonly gone: Promise<Error | undefined>
  drain(): void
  kill(): void
}

export function startActor(how: ActorMode, launchWith: Readonly<Record<string, unknown>>): ActorSlot {
  return how.mode === 'process' ? startProcess(how, launchWith) : startThread(how, launchWith)
}

function startProcess(how: ActorMode & { mode: 'process' }, launchWith: Readonly<Record<string, unknown>>): ActorSlot {
  const owner = randomUUID()
  const child = fork(how.module, {
    env: { ...process.env, ...how.env, [LAUNCH_ENV]: JSON.stringify({ owner, with: launchWith }) },
    ...(how.execArgv ? { execArgv: [...how.execArgv] } : {}),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  let token: string | undefined
  child.on('message', (message: FromActor) => {
    if (message.type === 'claiming') token = message.token
  })
  const gone = new Promise<Error | undefined>((resolve) => {
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(error) // It could not be started: there will be no exit.
    })
    child.once('exit', (code, signal) =>
      resolve(code === 0 ? undefined : new Error(`actor ${child.pid} ended with ${signal ?? `exit code ${code}`}`)),
    )
  })
  return {
    owner,
    pid: child.pid,
    get token() {
      return token
    },
    gone,
    drain: () => {
      if (child.connected) child.send({ type: 'drain' } satisfies ToActor, () => {})
    },
    kill: () => child.kill('SIGKILL'),
  }
}

function startThread(how: ActorMode & { mode: 'thread' }, launchWith: Readonly<Record<string, unknown>>): ActorSlot {
  const owner = randomUUID()
  const drain = new AbortController()
  const force = new AbortController()
  let token: string | undefined
  const live = async () => {
    const onClaiming = (next: string) => {
      token = next
    }
    const loop = await how.actor({ owner, onClaiming, with: launchWith })
    await loop.run({ signal: drain.signal, force: force.signal })
  }
  return {
    owner,
    pid: undefined,
    get token() {
      return token
    },
    gone: live().then(() => undefined, asError),
    drain: () => drain.abort(),
    kill: () => force.abort(new Error('the pool stops')),
  }
}
