import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { FromActor } from '../../../src/engine/actor-messages.ts'
import { type ActorBody, ActorSlot } from '../../../src/engine/actor-slot.ts'
import type { Machine } from '../../../src/engine/machine.ts'
import { Queue } from '../../../src/engine/queue.ts'
import { Roster } from '../../../src/engine/roster.ts'
import { Standstill } from '../../../src/engine/standstill.ts'
import { job } from '../../fixtures/engine/job.ts'

const body: ActorBody = {
  owner: 'somebody',
  pid: 1,
  gone: new Promise(() => {}),
  send: () => {},
  listen: () => {},
  kill: () => {},
}
const HOUR_MS = 3_600_000

/** An actor that has said this. */
function actor(...messages: FromActor[]): ActorSlot {
  const slot = new ActorSlot(body)
  for (const message of messages) slot.heard(message)
  return slot
}

/** With what the database knows of leases. */
const standstillOf = (holders: { owner: string; late: boolean }[]) =>
  new Standstill(new Roster(), new Queue<Machine>(job, { query: async <Row>() => holders as Row[] }), () => {})

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

it('an actor that was started, or asked, and does not answer is mute; one that answered is not', () => {
  const standstill = standstillOf([])
  const [started, idle, woken] = [actor(), actor({ type: 'idle' }), actor({ type: 'idle' })]
  woken.ask({ type: 'wake' })
  for (let second = 0; second < 31; second += 5) {
    vi.advanceTimersByTime(5_000)
    standstill.mute([], 0) // It is looked at every few seconds.
  }
  expect(standstill.mute([started, idle, woken], 30_000)).toEqual([started, woken])
})

it('an actor that shares its process with one that holds a row is not mute: the lease of that one decides', async () => {
  const standstill = standstillOf([])
  const [holding, started] = [actor({ type: 'busy', forMs: HOUR_MS }), actor()]
  for (let second = 0; second < 31; second += 5) {
    vi.advanceTimersByTime(5_000)
    standstill.mute([], 0)
  }
  expect(standstill.mute([holding, started], 30_000)).toEqual([])
  await standstill.late([holding]) // It holds none.
  expect(standstill.mute([holding, started], 30_000)).toEqual([started])
})

it('nobody is mute after a time in which nobody was asked', () => {
  const standstill = standstillOf([])
  const started = actor()
  vi.advanceTimersByTime(HOUR_MS)
  expect(standstill.mute([started], 30_000)).toEqual([])
})

it('an actor at work gets nowhere when what it is at takes longer than it said, and not while it goes on', () => {
  const standstill = standstillOf([])
  const still = actor({ type: 'busy', forMs: HOUR_MS })
  const onward = actor({ type: 'busy', forMs: HOUR_MS })
  const over = actor({ type: 'busy', forMs: HOUR_MS }, { type: 'progress', settled: true })
  vi.advanceTimersByTime(HOUR_MS - 1)
  onward.heard({ type: 'busy', forMs: HOUR_MS })
  still.heard({ type: 'here' })
  expect(standstill.overdue([still, onward, over])).toEqual([])
  vi.advanceTimersByTime(60_000)
  expect(standstill.overdue([still, onward, over])).toEqual([still])
})

it('nobody gets nowhere in a time in which nobody was heard: what they said then is still to be read', () => {
  const standstill = standstillOf([])
  const busy = actor({ type: 'busy', forMs: 60_000 })
  vi.advanceTimersByTime(HOUR_MS)
  expect([...standstill.mute([busy], 30_000), ...standstill.overdue([busy])]).toEqual([])
  for (let second = 0; second < 40; second += 5) {
    vi.advanceTimersByTime(5_000)
    standstill.mute([busy], HOUR_MS)
  }
  expect(standstill.overdue([busy])).toEqual([busy])
})

it('an actor that lets the lease of its row run out is late; one that holds none has to say something', async () => {
  const busy = actor({ type: 'busy', forMs: HOUR_MS })
  expect(await standstillOf([{ owner: 'somebody', late: false }]).late([busy])).toEqual([])
  expect(busy.askedAt).toBeUndefined()
  expect(await standstillOf([{ owner: 'somebody', late: true }]).late([busy])).toEqual([busy])
  expect(await standstillOf([]).late([busy])).toEqual([])
  expect(busy.askedAt).toBeDefined()
})
