import { expect, it } from 'vitest'
import { LanedWorker } from '../../src/workers/laned-worker.ts'

it('ends a lane that is opened when its worker has just gone', async () => {
  const exit = { code: 0, signal: null }
  const body = { owner: 'a', pid: 1, gone: Promise.resolve(exit), send: () => {}, listen: () => {}, kill: () => {} }
  const worker = new LanedWorker(body, 2)
  await new Promise(setImmediate)
  expect(worker.hasRoom).toBe(false)
  expect(await worker.open({ settings: {}, holds: false }).gone).toEqual(exit)
})
