import { expect, it } from 'vitest'
import { Stop } from '../../src/base/stop.ts'
import { Company } from '../../src/workers/company.ts'

function lanes() {
  const company = new Company()
  const stop = new Stop()
  const over = new AbortController()
  const tick = { signal: over.signal, progress: () => {} }
  return { company, stop, over, enter: (id: string, alone = false) => company.enter(id, alone, stop, tick) }
}
/** Is this still undecided after all that can be decided now? */
const waits = async (promise: Promise<boolean>) =>
  await Promise.race([promise.then(() => false), new Promise((resolve) => setImmediate(resolve, true))])

it('lets pages be side by side, but none twice', async () => {
  const { company, enter } = lanes()
  expect(await Promise.all([enter('a'), enter('b'), enter('a')])).toEqual([true, true, false])
  company.leave('a')
  expect(await enter('a')).toBe(true)
  expect(company.isOpen).toBe(true)
})

it('gives the worker to one page alone, once those beside it are done', async () => {
  const { company, enter } = lanes()
  await enter('a')
  const suspect = enter('suspect', true)
  expect(await waits(suspect)).toBe(true)
  expect(company.isOpen).toBe(false)
  expect(await Promise.all([enter('b'), enter('c', true)])).toEqual([false, false])
  company.leave('a')
  expect(await suspect).toBe(true)
  expect(await enter('b')).toBe(false)
  company.leave('suspect')
  expect(company.isOpen).toBe(true)
  expect(await enter('b')).toBe(true)
})

it.each(['drain', 'abort'])('has no page begin that waited to be alone when there is a stop (%s)', async (how) => {
  const { company, stop, over, enter } = lanes()
  await enter('a')
  const suspect = enter('suspect', true)
  if (how === 'drain') stop.requestDrain()
  else over.abort()
  expect(await suspect).toBe(false)
  expect(company.isOpen).toBe(true)
  expect(await enter('suspect')).toBe(true)
})
