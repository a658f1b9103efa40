import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FileLock } from '../../src/base/file-lock.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'file-lock-'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(dir, { recursive: true, force: true })
})

test('a Ctrl-C that its helper hears, too, before it has a session of its own does not keep a lock away', async () => {
  const pressed = join(dir, 'pressed')
  const helper = join(dir, 'flock')
  writeFileSync(helper, `#!/bin/sh\n[ -e ${pressed} ] && exit 0\n: >${pressed}\nkill -INT $$\n`)
  chmodSync(helper, 0o755)
  vi.stubEnv('PATH', [dir, process.env['PATH']].join(delimiter))
  const lock = new FileLock(join(dir, 'lock'))
  await lock.exclusive()
  expect(existsSync(pressed)).toBe(true)
  lock.release()
})
