import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ARCHIVE_FILE, archiveStatements, ENGINE_FILE, engineStatements } from '../../../scripts/write-statements.ts'
import { ROOT } from '../../support/program.ts'

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

describe('statements', () => {
  it('are sent by src/db, src/engine and src/machines alone', () => {
    const files = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !/^src.(db|engine|machines)\b/.test(file))
    expect(files.length).toBeGreaterThan(150)
    const send = /\bsql(<[^`]*>)?`|\.(selectFrom|insertInto|updateTable|deleteFrom|execute)\(/
    expect(files.filter((file) => send.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([])
  })
})
