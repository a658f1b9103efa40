import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { oneAtATime, startSideJobs } from '../../../src/runner/side-jobs.ts'

describe('a job beside the loop', () => {
  let done: string[]
  let said: string[]
  let fails: string | undefined
  let end: () => Promise<void>
  /** Until so many rounds are over. */
  const rounds = (count: number) => vi.waitUntil(() => done.filter((name) => name === 'sound').length >= count, 20_000)

  beforeEach(() => {
    done = []
    said = []
    fails = 'full'
    const failing = () => {
      done.push('failing')
      if (fails !== undefined) throw new Error(fails)
    }
    const jobs = { failing, sound: () => void done.push('sound') }
    end = startSideJobs(jobs, (name, error) => said.push(`${name}: ${(error as Error).message}`))
  })
  afterEach(() => end())

  it('that fails is said once, is tried again the next time, and takes nobody else along', async () => {
    await rounds(3)
    expect(said).toEqual(['failing: full'])
    expect(done.filter((name) => name === 'failing').length).toBeGreaterThan(1)
    fails = undefined
    await rounds(5)
    fails = 'full'
    await vi.waitUntil(() => said.length === 2, 20_000)
  })

  it('is not begun any more when all are ended', async () => {
    await end()
    const before = done.length
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(done).toHaveLength(before)
  })
})

describe('one at a time', () => {
  it('has what it is given done in turn, whatever fails', async () => {
    const inTurn = oneAtATime()
    const order: number[] = []
    const slow = async (number: number) => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      order.push(number)
      if (number === 1) throw new Error('the first')
    }
    const [first, second] = [inTurn(() => slow(1)), inTurn(async () => void order.push(2))]
    await expect(first).rejects.toThrow('the first')
    await second
    expect(order).toEqual([1, 2])
  })
})
