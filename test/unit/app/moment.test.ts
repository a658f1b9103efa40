import { describe, expect, it } from 'vitest'
import { momentOf } from '../../../src/app/records/moment.ts'
import { firstIdOf, uuidv7 } from '../../../src/base/ids.ts'

const NOW = Date.parse('2026-11-22T10:00:00Z')
const at = (text: string) => momentOf(text, '--after', NOW).toISOString()

describe('a moment on the command line', () => {
  it('is a date in UTC, or in the zone that it names', () => {
    expect(at('2026-11-01')).toBe('2026-11-01T00:00:00.000Z')
    expect(at('2026-11-01T08:30')).toBe('2026-11-01T08:30:00.000Z')
    expect(at('2026-11-01 08:30:15')).toBe('2026-11-01T08:30:15.000Z')
    expect(at('2026-11-01T08:30Z')).toBe('2026-11-01T08:30:00.000Z')
    expect(at('2026-11-01T08:30+02:00')).toBe('2026-11-01T06:30:00.000Z')
    expect(at('2028-02-29')).toBe('2028-02-29T00:00:00.000Z')
  })

  it('is an age', () => {
    expect(['90s', '45m', '12h', '7d', '2w'].map(at)).toEqual([
      '2026-11-22T09:58:30.000Z',
      '2026-11-22T09:15:00.000Z',
      '2026-11-21T22:00:00.000Z',
      '2026-11-15T10:00:00.000Z',
      '2026-11-08T10:00:00.000Z',
    ])
    expect(at('999999w')).toBe('1970-01-01T00:00:00.000Z')
  })

  it.each([
    '',
    'yesterday',
    '7',
    '-7d',
    '7 d',
    '2026',
    '2026-13-01',
    '2026-02-30',
    '2026-11-01T25:00',
    '1026-01-01',
    '7dd',
  ])('is not %j', (text) => expect(() => at(text)).toThrow(/--after takes a date or an age, not/))

  it('parts ids that were made before it from those made later', () => {
    for (const ms of [0, 1, NOW, 2 ** 47]) {
      expect(uuidv7(ms) > firstIdOf(new Date(ms))).toBe(true)
      if (ms > 0) expect(uuidv7(ms - 1) < firstIdOf(new Date(ms))).toBe(true)
    }
  })

  it('is larger than those before it, however many there are in a millisecond', () => {
    const ids = Array.from({ length: 20_000 }, () => uuidv7())
    expect(ids.toSorted()).toEqual(ids)
    expect(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toBe(
      true,
    )
  })
})
