import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { SQLITE, withoutSqlite } from '../../../src/browse/browser/no-sqlite.ts'
import { newFolder } from '../../support/folders.ts'
import { NODE } from '../../support/program.ts'

it.skipIf(process.arch !== 'x64')('a SQLite that opens nothing can be loaded', () => {
  const said = (library: Buffer) => {
    const folder = newFolder()
    const file = join(folder, SQLITE)
    writeFileSync(file, library)
    const { status, stderr } = spawnSync(NODE, ['-e', '0'], { env: { LD_PRELOAD: file, LD_BIND_NOW: '1' } })
    rmSync(folder, { recursive: true })
    return [status, stderr.toString()]
  }
  expect(said(withoutSqlite())).toEqual([0, ''])
  expect(said(withoutSqlite().fill(0, 4, 32))).toEqual([0, expect.stringContaining('cannot be preloaded')])
})
