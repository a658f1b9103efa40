import { LAUNCH_ENV, type Launch, type Loop } from '../actor-launch.ts'
import { supervisedProcess } from '../supervised.ts'

/** How long a loop may take to stop when its pool is gone. */
const ORPHAN_MS = 5_000

/**
 * The frame of an actor's process: the module that a pool starts calls this once. Runs the loop that `make` returns
 * until it ends, the pool drains it, or SIGTERM arrives; then exits, with code 1 after an error. Stops at once when the
 * pool is gone: an actor never outlives its pool. Throws TypeError in a process that no pool has started.
 */
export async function serveActor(make: (launch: Launch) => Loop | Promise<Loop>): Promise<never> {
  // Not a setting: the pool's message to its actor.
  const text = process.env[LAUNCH_ENV]
  if (text === undefined || !process.send) throw new TypeError('an actor can only be started by an ActorPool')
  const { owner, with: extra } = JSON.parse(text) as Pick<Launch, 'owner' | 'with'>
  const supervised = supervisedProcess()
  process.on('disconnect', () => setTimeout(() => process.exit(1), ORPHAN_MS))
  const { stop, tell } = supervised
  try {
    const loop = await make({
      ...{ owner, with: extra, supervised },
      onClaiming: (token) => tell({ type: 'claiming', token }),
    })
    await loop.run({ signal: stop.drain, force: stop.force })
  } catch (error) {
    process.exitCode = 1
    console.error(error)
  }
  process.exit()
}
