import { ChildProcess, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DataDirLock } from '../../../src/runner/data-dir-lock.ts'
import { eventually } from '../../support/program.ts'

let dataDir: string
let locks: DataDirLock[]
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'data-dir-lock-'))
  locks = [new DataDirLock({ dataDir }), new DataDirLock({ dataDir })]
})
afterEach(() => {
  for (const lock of locks) lock.release()
  rmSync(dataDir, { recursive: true, force: true })
})

const waiting = () =>
  execFileSync('sh', ['-c', `cat /proc/${process.pid}/task/*/children`], { encoding: 'utf8' })
    .trim()
    .split(' ')
    .filter(isFlock)
const isFlock = (pid: string) =>
  pid !== '' &&
  execFileSync('sh', ['-c', `cat /proc/${pid}/comm 2>/dev/null; true`], { encoding: 'utf8' }).trim() === 'flock'

describe('the lock on the data dir', () => {
  it('goes to who stands in line when its holder lets go, and is told by whom it is held', async () => {
    const [older, newer] = locks as [DataDirLock, DataDirLock]
    await eventually(() => older.take())
    newer.enqueue()
    await eventually(() => waiting().length === 1)
    older.release()
    await eventually(() => newer.take())
    expect(newer.holder()).toMatch(new RegExp(`^pid ${process.pid} on \\S+ since \\d{4}-\\d\\d-\\d\\dT`))
    expect(await older.take()).toBe(false)
  })

  it('is not taken while it is held, and whoever tried stays in line', async () => {
    const [older, newer] = locks as [DataDirLock, DataDirLock]
    await eventually(() => older.take())
    expect(await newer.take()).toBe(false)
    const [acquire] = await eventually(() => (waiting().length > 0 ? waiting() : undefined))
    expect(await newer.take()).toBe(false)
    expect(waiting()).toEqual([acquire])
    older.release()
    await eventually(() => newer.take())
  })

  it('is as good without flock: one has it, and whoever is in line when that one has let go, or has died', async () => {
    const path = process.env['PATH']
    const bare = mkdtempSync(join(tmpdir(), 'no-programs-'))
    try {
      process.env['PATH'] = bare
      const [older, newer] = locks as [DataDirLock, DataDirLock]
      expect(await older.take()).toBe(true)
      expect(await newer.take()).toBe(false)
      older.release()
      await eventually(() => newer.take())
      expect(newer.holder()).toMatch(new RegExp(`^pid ${process.pid} on `))
      newer.release()
      expect(existsSync(join(dataDir, '.runner.lock.owner'))).toBe(false)
      symlinkSync(`${spawnSync(process.execPath, ['-e', '0']).pid} of long ago`, join(dataDir, '.runner.lock.owner'))
      await eventually(() => older.take())
      const kill = vi.spyOn(ChildProcess.prototype, 'kill')
      newer.enqueue()
      newer.release()
      older.release()
      expect(kill).not.toHaveBeenCalled() // What could not be started has no pid yet, but Node signals some pid.
      kill.mockRestore()
      await eventually(() => readdirSync(dataDir).every((name) => name === '.runner.lock'))
    } finally {
      process.env['PATH'] = path
      rmSync(bare, { recursive: true })
    }
  })

  it('is left to others by who steps out of the line, and nothing goes on waiting', async () => {
    const [older, newer] = locks as [DataDirLock, DataDirLock]
    await eventually(() => older.take())
    newer.enqueue()
    await eventually(() => waiting().length === 1)
    newer.release()
    await eventually(() => waiting().length === 0)
    older.release()
    await eventually(() => older.take())
  })
})
