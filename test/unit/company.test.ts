import { expect, it } from 'vitest'
import { Company } from '../../src/workers/company.ts'

it('lets pages be side by side, but none twice', () => {
  const company = new Company()
  expect([company.enter('a', false), company.enter('b', false), company.enter('a', false)]).toEqual([true, true, false])
  company.leave('a')
  expect(company.enter('a', false)).toBe(true)
  expect(company.isOpen).toBe(true)
})

it('gives the worker to one page alone', () => {
  const company = new Company()
  expect(company.enter('suspect', true)).toBe(true)
  expect([company.isOpen, company.enter('a', false), company.enter('another', true)]).toEqual([false, false, false])
  company.leave('suspect')
  expect([company.isOpen, company.enter('a', false)]).toEqual([true, true])
})

it('has none enter after one that is to be alone until those before it are done', () => {
  const company = new Company()
  company.enter('a', false)
  company.enter('b', false)
  expect(company.enter('suspect', true)).toBe(false)
  company.leave('a')
  expect([company.isOpen, company.enter('c', false), company.enter('suspect', true)]).toEqual([false, false, false])
  company.leave('b')
  expect([company.isOpen, company.enter('suspect', true)]).toEqual([true, true])
})

it('does not close for a page that it refuses because it is there already', () => {
  const company = new Company()
  company.enter('a', false)
  expect(company.enter('a', true)).toBe(false)
  expect(company.isOpen).toBe(true)
})
