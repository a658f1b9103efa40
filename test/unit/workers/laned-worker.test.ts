import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { FromActor, ToActor } from '../../../src/engine/actor-messages.ts'
import type { Exit } from '../../../src/engine/actor-slot.ts'
import { ARE_YOU_HERE, type FromWorker } from '../../../src/workers/supervise/lane-messages.ts'
import { LanedWorker } from '../../../src/workers/supervise/laned-worker.ts'

const OPENING = { databaseUrl: 'postgres://nobody@127.0.0.1/none', settings: {}, holds: false }
const HERE: FromActor = { type: 'here' }
const EXITED: Exit = { code: 0, signal: null }

/** A worker of two lanes, at the other end of whose channel is the test. */
function twoLanes() {
  const { promise: gone, resolve: exit } = Promise.withResolvers<Exit>()
  const told: ToActor[] = []
  let hear: (message: FromActor) => void = () => {}
  const line = { stands: false }
  const body = {
    ...{ owner: randomUUID(), pid: 1, gone, kill: () => {} },
    send: (order: ToActor) => {
      told.push(order)
      if (order.type === 'note' && order.note === ARE_YOU_HERE && !line.stands) queueMicrotask(() => hear(HERE))
    },
    listen: (listener: typeof hear) => {
      hear = listener
    },
  }
  const worker = new LanedWorker(body, 2, Promise.resolve())
  const lanes = [worker.open(OPENING), worker.open(OPENING)]
  return {
    worker,
    lanes,
    told,
    exit,
    line,
    answer: () => hear(HERE),
    say: (note: FromWorker) => hear({ type: 'note', note }),
  }
}

it('has room for another lane where one ended alone', async () => {
  const { worker, lanes, say } = twoLanes()
  expect(await worker.hasRoom()).toBe(false)
  say({ lane: 1, endedWith: 0, isFull: false })
  expect(await lanes[0]!.gone).toEqual({ code: 0, signal: null, othersGoOn: true })
  expect(await worker.hasRoom()).toBe(true)
})

it('has no room while it stands still, and is asked once until it answers', async () => {
  const { worker, told, line, answer, say } = twoLanes()
  say({ lane: 1, endedWith: 0, isFull: false })
  line.stands = true
  for (let asked = 0; asked < 3; asked += 1) expect(await worker.hasRoom()).toBe(false)
  expect(told.filter((order) => order.type === 'note' && order.note === ARE_YOU_HERE)).toHaveLength(1)
  line.stands = false
  answer()
  expect(await worker.hasRoom()).toBe(true)
})

it('has no room once it is full', async () => {
  const { worker, say } = twoLanes()
  say({ lane: 1, endedWith: 0, isFull: true })
  expect(await worker.hasRoom()).toBe(false)
})

it('ends with all lanes that are open, and has no room then', async () => {
  const { worker, lanes, say, exit } = twoLanes()
  say({ lane: 2, endedWith: 1, isFull: false })
  const killed = { code: null, signal: 'SIGKILL' }
  exit(killed)
  expect(await Promise.all(lanes.map(({ gone }) => gone))).toEqual([
    killed,
    { code: 1, signal: null, othersGoOn: true },
  ])
  await setImmediate()
  expect(await worker.hasRoom()).toBe(false)
})

it('ends at once in a worker that has ended: a lane that is opened too late', async () => {
  const { worker, say, exit } = twoLanes()
  say({ lane: 1, endedWith: 0, isFull: false })
  exit(EXITED)
  await setImmediate()
  expect(await worker.open(OPENING).gone).toEqual(EXITED)
})

it('has each lane told, and heard, apart', () => {
  const { lanes, told, say } = twoLanes()
  const heard: [number, FromActor][] = []
  for (const [index, lane] of lanes.entries()) lane.listen((message) => heard.push([index, message]))
  lanes[1]!.send({ type: 'wake' })
  expect(told.at(-1)).toEqual({ type: 'note', note: { lane: 2, order: { type: 'wake' } } })
  say({ lane: 2, message: { type: 'idle' } })
  say({ lane: 1, message: { type: 'here' } })
  expect(heard).toEqual([
    [1, { type: 'idle' }],
    [0, { type: 'here' }],
  ])
})
