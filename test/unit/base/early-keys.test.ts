import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FileLock } from '../../../src/base/file-lock.ts'
import { runProgram } from '../../../src/db/embedded/run.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'early-keys-'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(dir, { recursive: true, force: true })
})

/** A program that dies of a Ctrl-C the first time. */
function pressedOnce(name: string): string {
  const file = join(dir, name)
  writeFileSync(file, `#!/bin/sh\n[ -e ${file}.pressed ] && exit 0\n: >${file}.pressed\nkill -INT $$\n`)
  chmodSync(file, 0o755)
  return file
}

describe('a Ctrl-C that reaches a helper before it has a session of its own', () => {
  it('does not keep a lock away', async () => {
    pressedOnce('flock')
    vi.stubEnv('PATH', [dir, process.env['PATH']].join(delimiter))
    const lock = new FileLock(join(dir, 'lock'))
    await expect(lock.exclusive()).resolves.toBeUndefined()
    lock.release()
  })

  it('does not keep the database from being started or stopped', async () => {
    expect(await runProgram(pressedOnce('pg_ctl'), [], undefined, ['ignore', 'ignore', 'pipe'])).toEqual({
      code: 0,
      output: '',
    })
  })
})
