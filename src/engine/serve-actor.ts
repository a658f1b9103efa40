import { type FromActor, LAUNCH_ENV, type Launch, type Loop, type ToActor } from './actor-launch.ts'

/** How long a loop may take to stop when its pool is gone. */
const ORPHAN_MS = 5_000

/**
 * The frame of an actor's process: the module that a pool starts calls this once. Runs what `make` answers with until it ends, the pool says
 * drain, or SIGTERM comes, and ends the process then, with exit code 1 when something was thrown. When the pool is gone, stops at once: an
 * actor never outlives its pool. Throws TypeError in a process that no pool has started.
 */
export async function serveActor(make: (launch: Launch) => Loop | Promise<Loop>): Promise<never> {
  const text = process.env[LAUNCH_ENV]
  if (text === undefined || !process.send) throw new TypeError('an actor is started by an ActorPool, not by hand')
  const { owner, with: extra } = JSON.parse(text) as Pick<Launch, 'owner' | 'with'>
  const drain = new AbortController()
  const force = new AbortController()
  process.on('message', ({ type }: ToActor) => {
    if (type === 'drain') drain.abort()
  })
  process.on('disconnect', () => {
    setTimeout(() => process.exit(1), ORPHAN_MS)
    force.abort(new Error('the pool is gone'))
  })
  process.on('SIGTERM', () => drain.abort())
  process.on('SIGINT', () => {}) // Ctrl-C reaches the pool, too: it decides.
  const onClaiming = (token: string) => {
    if (process.connected)
      process.send?.({ type: 'claiming', token } satisfies FromActor, undefined, undefined, () => {})
  }
  try {
    const loop = await make({ owner, with: extra, onClaiming })
    await loop.run({ signal: drain.signal, force: force.signal })
  } catch (error) {
    process.exitCode = 1
    console.error(error)
  }
  process.exit()
}
