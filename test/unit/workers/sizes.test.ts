import { expect, it } from 'vitest'
import { pagesSideBySide } from '../../../src/workers/supervise/sizes.ts'

it.each([
  ['the default of two cores in one process', 3, 2, 3],
  ['the default of four cores in two', 5, 4, 3],
  ['the default of eight cores in three', 9, 8, 3],
  ['what a single core works on in one', 2, 1, 2],
  ['one page', 1, 8, 1],
  ['no more than four in one, however many there are', 20, 2, 4],
])('puts %s', (_what, pages, cores, each) => {
  expect(pagesSideBySide(pages, cores)).toBe(each)
})
