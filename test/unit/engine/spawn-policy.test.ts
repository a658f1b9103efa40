import { availableParallelism } from 'node:os'
import { expect, it } from 'vitest'
import { ACTOR_DEFAULTS, actorsToSpawn, MAX_CONCURRENT_ACTORS } from '../../../src/engine/index.ts'

it.each([
  [0, 0, 0],
  [1, 0, 1],
  [10, 0, 1],
  [11, 0, 2],
  [1_000_000, 0, 2],
  [11, 7, 1],
  [11, 8, 0],
  [11, 9, 0],
])('a queue of %i, with %i of 8 actors running, is worth %i more', (length, running, more) => {
  expect(actorsToSpawn(length, running, 8)).toBe(more)
})

it('has the numbers of ArchiveBox', () => {
  expect(MAX_CONCURRENT_ACTORS).toBe(Math.min(8, Math.max(2, Math.floor(availableParallelism() * 0.6))))
  expect(ACTOR_DEFAULTS).toMatchObject({
    eventName: 'tick',
    claimOrder: 'oldest',
    claimFromTopN: availableParallelism() * 10,
    claimAtomic: true,
    maxTickMs: 60_000,
  })
})
