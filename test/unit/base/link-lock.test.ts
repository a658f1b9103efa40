import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync, unlinkSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { noLinkLock, takeLinkLock } from '../../../src/base/link-lock.ts'

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

test('that a dead owner left is taken over by one of many who come at the same time', async () => {
  const path = join(dir, 'lock')
  const dead = spawnSync(process.execPath, ['-e', '0']).pid
  for (let round = 0; round < 5; round += 1) {
    symlinkSync(`${dead} Sat Nov 21 05:00:00 2026`, path)
    const taken = await Promise.all(Array.from({ length: 8 }, () => takeLinkLock(path, 300)))
    expect(taken.filter((release) => release !== undefined)).toHaveLength(1)
    for (const release of taken) release?.()
  }
  expect(readdirSync(dir)).toEqual([])
})

test('whose taker died while it took a dead owner’s link away is taken a little later', async () => {
  const path = join(dir, 'lock')
  symlinkSync(`${spawnSync(process.execPath, ['-e', '0']).pid} gone`, path)
  mkdirSync(`${path}.clearing`)
  expect(await takeLinkLock(path, 50)).toBeUndefined()
  expect(await noLinkLock(path, 50)).toBe(false)
  utimesSync(`${path}.clearing`, 0, 0)
  expect(await noLinkLock(path, 10_000)).toBe(true)
  const release = await takeLinkLock(path, 50)
  release?.()
  expect(readdirSync(dir)).toEqual([])
})

test('is not taken from a live owner of whom nothing tells when it began, nor let go by a former owner', async () => {
  const path = join(dir, 'lock')
  const first = await takeLinkLock(path, 1_000)
  unlinkSync(path)
  symlinkSync(`${process.ppid}`, path)
  expect(await takeLinkLock(path, 50)).toBeUndefined()
  expect(await noLinkLock(path, 50)).toBe(false)
  first?.()
  expect(readlinkSync(path)).toBe(`${process.ppid}`)
})
