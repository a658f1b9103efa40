import { expect, it } from 'vitest'
import { Intake } from '../../../src/app/add/intake.ts'
import { AddressFilter } from '../../../src/browse/network/address-filter.ts'

it.each([
  ['a URL', { url: 'javascript:\u001b]0;owned\u0007\u009b2J\nx', line: 2 }],
  ['a title', { url: '', title: '\u001b]0;owned\u0007\u009b2J\nx', line: 2 }],
  ['what is broken', { broken: 'not JSON: \u001b]0;owned\u0007\u009b2J', line: 2 }],
])('%s of a list cannot drive the terminal when it is left out', (_, found) => {
  const intake = new Intake()
  intake.take(found)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  expect(intake.firstLeftOut).toMatch(/^line 2: [^\u0000-\u001f\u007f-\u009f]+$/)
  expect(() => intake.list()).toThrow(intake.firstLeftOut)
  intake.close()
})

it('leaves out the hosts of one’s own network when that is asked for, and keeps the others', () => {
  const intake = new Intake(AddressFilter.ofPrivate({ BLOCK_PRIVATE_ADDRESSES: 'true' }))
  for (const url of ['http://[::1]:8000/x', 'https://example.com/', 'http://router/']) intake.take({ url, line: 1 })
  expect(intake.firstLeftOut).toBe('line 1: http://[::1]:8000/x: ::1 is a private address (BLOCK_PRIVATE_ADDRESSES)')
  expect(intake.refused).toBe(2)
  expect([...intake.list()].map(({ url }) => url)).toEqual(['https://example.com/'])
  intake.close()
})
