import { expect, it } from 'vitest'
import { pulled } from '../../../src/base/pulled.ts'

/** Gives 0, 1, 2, and says what it is at. */
const counting = (steps: string[], fails = false) =>
  pulled<number>(async (give) => {
    for (let n = 0; n < 3; n += 1) {
      steps.push(`gives ${n}`)
      if (!(await give(n))) break
    }
    steps.push('ends')
    if (fails) throw new Error('broken')
  })

it('what is given waits for its reader', async () => {
  const steps: string[] = []
  for await (const n of counting(steps)) {
    await new Promise(setImmediate)
    steps.push(`reads ${n}`)
  }
  expect(steps).toEqual(['gives 0', 'reads 0', 'gives 1', 'reads 1', 'gives 2', 'reads 2', 'ends'])
})

it('a reader who leaves ends the work, and waits for its end', async () => {
  const steps: string[] = []
  for await (const _first of counting(steps)) break
  expect(steps).toEqual(['gives 0', 'ends'])
})

it('the reader hears of a failure, after what was given', async () => {
  const read: number[] = []
  const reading = async () => {
    for await (const n of counting([], true)) read.push(n)
  }
  await expect(reading()).rejects.toThrow('broken')
  expect(read).toEqual([0, 1, 2])
})
