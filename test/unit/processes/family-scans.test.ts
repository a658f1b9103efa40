import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { killFamily, killLeftovers, membersOf } from '../../../src/processes/family.ts'
import { identityOf } from '../../../src/processes/identity.ts'

const MARK = `ARCHIVEBOX_PROCESS_ID=scans-${process.pid}`
let scans = 0

beforeEach(() => {
  scans = 0
  const { readdirSync } = fs
  vi.spyOn(fs, 'readdirSync').mockImplementation(((path: string, ...rest: []) => {
    if (path === '/proc') scans += 1
    return readdirSync(path, ...rest)
  }) as typeof fs.readdirSync)
  syncBuiltinESMExports()
})
afterEach(() => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

/** A process that has ended by itself, in a session of its own. */
async function ended() {
  const child = spawn('sleep', ['0.05'], { detached: true, stdio: 'ignore' })
  const identity = (await identityOf(child.pid!))!
  await once(child, 'exit')
  return { roots: [identity], sessions: true, markers: [MARK] }
}

describe.skipIf(process.platform !== 'linux')('how often /proc is read', () => {
  it('once, for a process that has ended and left nothing', async () => {
    const family = await ended()
    scans = 0
    expect(await killLeftovers(family)).toEqual([])
    expect(scans).toBe(1)
  })

  it('once for many that end, and are looked at, at the same time', async () => {
    const families = await Promise.all(Array.from({ length: 5 }, ended))
    scans = 0
    await Promise.all(families.map(killLeftovers))
    expect(scans).toBe(1)
    await Promise.all(families.map(membersOf))
    expect(scans).toBe(2)
  })

  it('twice, where nobody has told that it ended', async () => {
    const family = await ended()
    scans = 0
    await killFamily(family)
    expect(scans).toBe(2)
  })

  it('until two in a row have found nobody, where somebody was', async () => {
    const family = await ended()
    const [name, value] = MARK.split('=') as [string, string]
    const left = spawn('sleep', ['300'], { stdio: 'ignore', env: { ...process.env, [name]: value } })
    const gone = once(left, 'exit')
    await once(left, 'spawn')
    scans = 0
    expect(await killLeftovers(family)).toEqual([])
    await gone
    expect(scans).toBeGreaterThanOrEqual(4) // To find it, to kill it, and two of proof.
  })
})
