import { describe, expect, it } from 'vitest'
import { userAgent } from '../../../src/base/user-agent.ts'
import { retryAfterSeconds } from '../../../src/browse/http/retry-after.ts'
import { isPrivateAddress, isPrivateName } from '../../../src/browse/network/private-host.ts'
import { busyIn, isBusyCause } from '../../../src/machines/busy.ts'

describe('a host', () => {
  it.each([
    ...[
      '127.0.0.1',
      '127.9.9.9',
      '10.1.2.3',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '169.254.1.1',
      '100.64.0.1',
    ],
    ...['[::1]', '[fe80::1]', '[fd00::1]', '[::ffff:10.0.0.1]', '[::ffff:7f00:1]', 'localhost', 'a.localhost', 'nas'],
    ...['printer.local', 'wiki.internal', 'box.home.arpa', 'localhost.'],
  ])('%s is private', (name) => expect(isPrivateName(name)).toBe(true))

  it.each(['1.1.1.1', '172.32.0.1', '100.128.0.1', '[2606:4700::1111]', '[::ffff:1.1.1.1]'])('%s is public', (name) =>
    expect(isPrivateName(name)).toBe(false),
  )

  it.each(['example.com', 'localhost.example.com', 'internal.example', '10.example.com'])(
    '%s may be either: its addresses tell',
    (name) => expect(isPrivateName(name)).toBeUndefined(),
  )

  it('has addresses that tell', () => {
    expect(['192.168.0.9', '::1', '93.184.216.34'].map(isPrivateAddress)).toEqual([true, true, false])
  })
})

describe('a server that is too busy', () => {
  const now = Date.parse('2027-03-01T12:00:00Z')

  it.each([
    ['120', 120],
    [' 0 ', 0],
    ['Mon, 01 Mar 2027 12:01:30 GMT', 90],
    ['Mon, 01 Mar 2027 11:00:00 GMT', 0],
    ['99999999999', 86_400],
    ['soon', undefined],
    ['-5', undefined],
    [undefined, undefined],
  ])('says "Retry-After: %s": %s seconds', (header, seconds) => expect(retryAfterSeconds(header, now)).toBe(seconds))

  it('is one that answers 429 or 503', () => {
    expect(busyIn({ http_status: 429, retry_after: 7 })).toEqual({ status: 429, waitMs: 7_000 })
    expect(busyIn({ http_status: 503 })).toEqual({ status: 503, waitMs: 0 })
    for (const json of [null, undefined, 'x', {}, { http_status: 500 }, { http_status: 200 }])
      expect(busyIn(json)).toBeUndefined()
    expect(['HTTP 429', 'HTTP 503', 'HTTP 500'].map(isBusyCause)).toEqual([true, true, false])
  })
})

describe('the user agent', () => {
  it('names the program, and whom to ask', () => {
    expect(userAgent({})).toMatch(/^Mozilla\/5\.0 \(compatible; archivebox-ts\/[\w.]+\)$/)
    expect(userAgent({ CONTACT: 'https://example.com/bot' })).toMatch(/; \+https:\/\/example\.com\/bot\)$/)
    expect(userAgent({ CONTACT: 'a@b.example\r\nX: y' })).toMatch(/; \+a@b\.exampleX:y\)$/)
    expect(userAgent({ CONTACT: 'x', USER_AGENT: 'me' })).toBe('me')
  })
})
