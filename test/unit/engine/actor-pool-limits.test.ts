import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { FromActor, ToActor } from '../../../src/engine/actor-messages.ts'
import { ActorPool } from '../../../src/engine/actor-pool.ts'
import type { ActorBody, Exit } from '../../../src/engine/actor-slot.ts'
import { job } from '../../fixtures/engine/job.ts'

/** A pool of at most two actors, each of which is there when the test says so. */
function slowlyStarting() {
  const starts: PromiseWithResolvers<ActorBody | undefined>[] = []
  const start = () => {
    const started = Promise.withResolvers<ActorBody | undefined>()
    starts.push(started)
    return started.promise
  }
  const sql = { query: async <Row>() => [] as Row[] }
  const pool = new ActorPool({ sql, machine: job, maxConcurrentActors: 2, actors: { mode: 'custom', start } })
  /** Has the n-th start end with an actor, which is at work. */
  const land = async (nth: number) => {
    const { promise: gone, resolve } = Promise.withResolvers<Exit>()
    const told: ToActor[] = []
    const listen = (hear: (message: FromActor) => void) => hear({ type: 'busy', forMs: 60_000 })
    const send = (order: ToActor) => void told.push(order)
    starts[nth]!.resolve({ owner: randomUUID(), pid: undefined, gone, send, listen, kill: () => {} })
    await setImmediate()
    return { told, exit: () => resolve({ code: 0, signal: null }) }
  }
  return { pool, starts, land }
}

it('is small only when no actor above the limit is about to be there, and such a one is told to leave', async () => {
  const { pool, land } = slowlyStarting()
  void pool.fill(1)
  const first = await land(0)
  const filling = pool.fill(1)
  let isSmall = false
  pool.resize(1, () => {
    isSmall = true
  })
  expect([pool.size, isSmall]).toEqual([2, false])
  const second = await land(1)
  expect([pool.size, isSmall]).toEqual([2, false])
  expect([first.told, second.told]).toEqual([[], [{ type: 'drain', capMs: null, isExplained: true }]])
  await filling
  second.exit()
  await setImmediate()
  expect([pool.size, isSmall]).toEqual([1, true])
})

it('is small as soon as an actor that was about to be there cannot be started', async () => {
  const { pool, starts } = slowlyStarting()
  const filling = pool.fill(1)
  let isSmall = false
  pool.resize(0, () => {
    isSmall = true
  })
  expect(isSmall).toBe(false)
  starts[0]!.resolve(undefined)
  await filling
  expect([pool.size, isSmall]).toEqual([0, true])
})

it('starts no further actor when its limit was lowered while it started one', async () => {
  const { pool, starts, land } = slowlyStarting()
  const filling = pool.fill(100)
  pool.resize(1, () => {})
  await land(0)
  await filling
  expect(starts).toHaveLength(1)
})
