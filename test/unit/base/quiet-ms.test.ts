import { expect, it } from 'vitest'
import { quietMs } from '../../../src/base/quiet-ms.ts'

it('the patience of a person lasts as long as a quiet machine needs, and longer on a busy one', () => {
  expect([0, 1, 2.51, 30].map((busy) => quietMs(1_200, busy))).toEqual([1_200, 1_200, 3_000, 12_000])
})
