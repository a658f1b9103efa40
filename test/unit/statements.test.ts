import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ARCHIVE_FILE, archiveStatements, ENGINE_FILE, engineStatements } from '../../scripts/write-statements.ts'

describe('the statements of the state engine lie in the repository as they are sent (node scripts/write-statements.ts)', () => {
  it.each([
    ['for a graph that has everything', ENGINE_FILE, engineStatements],
    ["for the archive's own queues", ARCHIVE_FILE, archiveStatements],
  ])('%s', async (_which, file, statements) => {
    const text = await statements()
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(text.split('\n').filter((line) => line.length > 120)).toEqual([])
  })
})
