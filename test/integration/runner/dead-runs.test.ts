import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { identityOf } from '../../../src/processes/identity.ts'
import { OWNER, own, removeDeadRuns } from '../../support/dead-runs.ts'
import { newFolder } from '../../support/folders.ts'
import { isThere } from '../../support/processes.ts'
import { eventually, program } from '../../support/program.ts'

it('a test run that was killed leaves nothing to the next one, which ends nothing else', async () => {
  const parent = newFolder()
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  const [dead, alive, foreign] = ['dead00', 'alive0', 'other0'].map((name) => join(parent, `abx-${name}`))
  for (const folder of [dead!, alive!, foreign!]) mkdirSync(folder, { mode: 0o755 })
  const run = spawn('sleep', ['1000'])
  writeFileSync(join(dead!, OWNER), JSON.stringify(await identityOf(run.pid!)))
  await own(alive!)
  const dataDir = join(dead!, 'home')
  mkdirSync(dataDir, { mode: 0o755 }) // The server's user enters it.
  for (const args of [['init'], ['db', 'start']]) {
    const { code, stderr } = await program(args, { env: { DATA_DIR: dataDir } })
    expect(code, stderr).toBe(0)
  }
  // Of a person who wants to know what became of it.
  const shell = spawn('sleep', ['1000'], { cwd: dataDir, env: { ...process.env, PWD: dataDir } })
  onTestFinished(() => void shell.kill('SIGKILL'))
  const server = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
  const memory = readFileSync(`/proc/${server}/maps`, 'utf8').match(/\/dev\/shm\/PostgreSQL\.\d+/g)!
  expect(memory.length).toBeGreaterThan(0)

  await removeDeadRuns(parent)
  expect(existsSync(dead!), 'whose owner is alive').toBe(true)
  run.kill('SIGKILL')
  await once(run, 'exit')
  await removeDeadRuns(parent)

  expect([dead!, alive!, foreign!].map((folder) => existsSync(folder))).toEqual([false, true, true])
  await eventually(() => !isThere(server))
  expect(isThere(shell.pid!)).toBe(true)
  expect(memory.filter((file) => existsSync(file))).toEqual([])
})
