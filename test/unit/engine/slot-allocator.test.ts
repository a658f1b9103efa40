import { describe, expect, it } from 'vitest'
import { SlotAllocator } from '../../../src/engine/slot-allocator.ts'

const told = (news: Map<string, number>) => Object.fromEntries(news)

describe('the slots of a runner', () => {
  it('all go to the only supervisor', () => {
    const allocator = new SlotAllocator<string>(5)
    expect(told(allocator.divide(['a']))).toEqual({ a: 5 })
    expect(told(allocator.divide(['a']))).toEqual({})
  })

  it('go to a second one only when the first has said that it gave them up', () => {
    const allocator = new SlotAllocator<string>(5)
    allocator.divide(['a'])
    expect(told(allocator.divide(['a', 'b']))).toEqual({ a: 3, b: 0 })
    expect(told(allocator.divide(['a', 'b']))).toEqual({})
    allocator.released('a', 4)
    expect(told(allocator.divide(['a', 'b']))).toEqual({ b: 1 })
    allocator.released('a', 3)
    expect(told(allocator.divide(['a', 'b']))).toEqual({ b: 2 })
  })

  it('come back from one that is gone', () => {
    const allocator = new SlotAllocator<string>(2)
    allocator.divide(['a'])
    allocator.divide(['a', 'b'])
    expect(told(allocator.divide(['b']))).toEqual({ b: 2 })
  })

  it('are never more together than there are, whoever comes, goes and answers when', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      let state = seed
      const random = (below: number) => {
        state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
        return Math.floor((state / 2_147_483_648) * below)
      }
      const total = 1 + random(6)
      const allocator = new SlotAllocator<string>(total)
      const here = new Map<string, { may: number; uses: number }>()
      for (let step = 0; step < 60; step += 1) {
        const key = `k${random(8)}`
        if (random(3) === 0 && here.has(key)) here.delete(key)
        else if (here.size < total && !here.has(key)) here.set(key, { may: 0, uses: 0 })
        for (const [who, slots] of allocator.divide([...here.keys()])) here.get(who)!.may = slots
        for (const [who, one] of here) {
          // It uses what it may at once, and releases them when it pleases, one by one.
          if (one.uses < one.may) one.uses = one.may
          else if (one.uses > one.may && random(2) === 0) allocator.released(who, --one.uses)
        }
        const used = [...here.values()].reduce((sum, { uses }) => sum + uses, 0)
        expect(used, `seed ${seed}, step ${step}`).toBeLessThanOrEqual(total)
      }
      for (const [who, { may }] of here) allocator.released(who, may)
      for (const [who, slots] of allocator.divide([...here.keys()])) here.get(who)!.may = slots
      if (here.size > 0) expect([...here.values()].reduce((sum, { may }) => sum + may, 0)).toBe(total)
    }
  })
})
