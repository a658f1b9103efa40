import { describe, expect, it } from 'vitest'
import { archiveResultMachine, hookRetries } from '../../../src/machines/archive-result.ts'

describe('further attempts of a hook', () => {
  it('are three, after 15 s, and twice as long each time, but never more than an hour', () => {
    const { most, waitMs } = hookRetries({})
    expect(most).toBe(3)
    expect([0, 1, 2, 7, 8, 2_000].map((before) => waitMs(before) / 1_000)).toEqual([15, 30, 60, 1_920, 3_600, 3_600])
  })

  it('are those of the graph where nothing is set', () => {
    const { again } = archiveResultMachine.states.backoff
    const { most, waitMs } = hookRetries({})
    expect([waitMs(0) / 1_000, most]).toEqual([again.afterSeconds.standard, again.most.standard])
  })

  it('are what HOOK_RETRIES and HOOK_RETRY_SECONDS say, when they are numbers', () => {
    expect(hookRetries({ HOOK_RETRIES: '0' }).most).toBe(0)
    expect(hookRetries({ HOOK_RETRY_SECONDS: '0.5' }).waitMs(1)).toBe(1_000)
    for (const wrong of ['', 'often', '-1', 'NaN']) expect(hookRetries({ HOOK_RETRIES: wrong }).most).toBe(3)
  })
})
