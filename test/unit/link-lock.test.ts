import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { takeLinkLock } from '../../src/base/link-lock.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'embedded-lock-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('a second taker waits until the first one lets go', async () => {
  const path = join(dir, 'lock')
  const first = await takeLinkLock(path, 1_000)
  expect(await takeLinkLock(path, 50)).toBeUndefined()
  const waiting = takeLinkLock(path, 10_000)
  first?.()
  const second = await waiting
  expect(second).toBeTypeOf('function')
  second?.()
  expect(readdirSync(dir)).toEqual([])
})

test('a lock whose owner is dead, or whose pid is somebody else now, is taken over', async () => {
  const path = join(dir, 'lock')
  const dead = spawnSync(process.execPath, ['-e', '0']).pid
  for (const owner of [`${dead} Sat Nov 21 05:00:00 2026`, `${process.pid} Thu Jan  1 00:00:00 1970`]) {
    symlinkSync(owner, path)
    const release = await takeLinkLock(path, 1_000)
    expect(release).toBeTypeOf('function')
    release?.()
  }
  expect(readdirSync(dir)).toEqual([])
})
