import { describe, expect, it } from 'vitest'
import { type Check, examine, green } from '../../../src/app/doctor/check.ts'
import { UsageError } from '../../../src/base/errors.ts'
import type { Asked } from '../../../src/cli/settings.ts'

const nobody = {} as Asked

describe('checks', () => {
  it('are made at once, and come in their order; what is late is yellow, what fails red', async () => {
    const checks: readonly Check[] = [
      { name: 'late', look: () => new Promise(() => {}) },
      { name: 'fine', look: () => green('as it should be') },
      { name: 'two', look: () => [green('one'), green('other')] },
      { name: 'thrown', look: () => Promise.reject(new UsageError('wrong', 'mend it')) },
      {
        name: 'at once',
        look: () => {
          throw new Error('broken')
        },
      },
    ]
    expect(await examine(nobody, checks, 20)).toEqual([
      { name: 'late', status: 'yellow', message: 'no answer after 0.02 s' },
      { name: 'fine', status: 'green', message: 'as it should be' },
      { name: 'two', status: 'green', message: 'one' },
      { name: 'two', status: 'green', message: 'other' },
      { name: 'thrown', status: 'red', message: 'wrong', command: 'mend it' },
      { name: 'at once', status: 'red', message: 'broken' },
    ])
  })
})
