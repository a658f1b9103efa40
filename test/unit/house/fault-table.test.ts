import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/program.ts'

const table = readFileSync(join(ROOT, 'test', 'crash', 'README.md'), 'utf8')
const faults = [...table.matchAll(/^\| (\d+) \| ([^|]+) \| (.+) \|$/gm)].map(([, number, fault, proof]) => ({
  number: Number(number),
  fault: fault!,
  tests: [...proof!.matchAll(/`([\w/-]+\.test\.ts)` “([^”]+)”/g)].map(([, file, title]) => ({
    file: file!,
    title: title!,
  })),
}))

describe('the table of faults', () => {
  it('has all 80, of which at least 60 are automated, as many as it says', () => {
    expect(faults.map(({ number }) => number)).toEqual(Array.from({ length: 80 }, (_, index) => index + 1))
    const automated = faults.filter(({ tests }) => tests.length > 0).length
    expect(automated).toBeGreaterThanOrEqual(60)
    expect(table).toContain(`${automated} of 80 are automated`)
  })

  it('names tests that are there', () => {
    const missing = faults.flatMap(({ number, tests }) =>
      tests
        .filter(({ file, title }) => !readFileSync(join(ROOT, 'test', file), 'utf8').includes(title))
        .map(({ title }) => `${number}: ${title}`),
    )
    expect(missing).toEqual([])
  })
})
