import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MUTANTS } from '../../support/mutants.ts'
import { ROOT } from '../../support/program.ts'

describe('the mutants of `npm run mutants`', () => {
  it.each(MUTANTS)('find their place and their test: $name', ({ file, find, test, only }) => {
    expect(readFileSync(join(ROOT, file), 'utf8').split(find)).toHaveLength(2)
    expect(existsSync(join(ROOT, test))).toBe(true)
    expect(readFileSync(join(ROOT, test), 'utf8')).toContain(only.replace('of a hook process', 'of a %s process'))
  })
})
