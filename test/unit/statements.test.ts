import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ARCHIVE_FILE, archiveStatements, ENGINE_FILE, engineStatements } from '../../scripts/write-statements.ts'
import { ROOT } from '../support/program.ts'

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
  it('are sent by no command, no page, and no registry of processes: those ask src/db', () => {
    const files = globSync('src/{cli,pages,processes}/**/*.ts', { cwd: ROOT }).filter((file) => !STATUS.test(file))
    expect(files.length).toBeGreaterThan(50)
    const send = /\bsql(<[^`]*>)?`|\.(selectFrom|insertInto|updateTable|deleteFrom|execute)\(/
    expect(files.filter((file) => send.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([])
  })
})

/** What shows how it stands still asks by itself. */
const STATUS = /cli.(commands.status(-\w+)?|follow|progress)\.ts$/
