import { expect, it } from 'vitest'
import { Company } from '../../../src/workers/supervise/company.ts'

it('lets pages be side by side, but none twice', () => {
  const company = new Company()
  expect(['a', 'b', 'a'].map((id) => company.enter(id, false))).toEqual([true, true, false])
  company.leave('a')
  expect(company.enter('a', false)).toBe(true)
})

it('gives the worker to one page alone: neither beside others, nor others beside it', () => {
  const company = new Company()
  company.enter('a', false)
  expect(company.enter('suspect', true)).toBe(false)
  company.leave('a')
  expect(company.enter('suspect', true)).toBe(true)
  expect([company.enter('b', false), company.enter('c', true)]).toEqual([false, false])
  company.leave('suspect')
  expect(company.enter('b', false)).toBe(true)
})
