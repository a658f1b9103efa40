import { appendFileSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { newFolder } from '../../support/homes.ts'
import { eventually, program } from '../../support/program.ts'

const CAP = 10 * 1024 * 1024
let dataDir: string
const run = async (...args: string[]) => {
  const { code, stdout, stderr } = await program(args, { env: { DATA_DIR: dataDir } })
  expect(code, stderr).toBe(0)
  return stdout.trim()
}

beforeEach(async () => {
  dataDir = newFolder()
  await run('init')
  await run('db', 'start')
})
afterEach(async () => {
  await run('db', 'stop', '--force')
  rmSync(dataDir, { recursive: true, force: true })
})

it('the logs of those who run on are cut by the leader: they go on writing at the new end', async () => {
  const log = (name: string) => join(dataDir, 'logs', name)
  const names = ['postgres.log', 'hook-host.log', 'guardian.log']
  for (const name of names) appendFileSync(log(name), `${'x'.repeat(CAP)}\n`, { mode: 0o600 })
  await run('run', '--exit-on-idle')
  for (const name of names) {
    expect(statSync(log(name)).size, name).toBeLessThan(CAP)
    expect(statSync(log(`${name}.1`)).size, name).toBe(CAP)
    expect(statSync(log(`${name}.1`)).mode & 0o777, name).toBe(0o600)
  }
  const client = new pg.Client(await run('db', 'url'))
  await client.connect()
  await expect(client.query('select nonsense')).rejects.toThrow('nonsense')
  await client.end()
  await eventually(() => readFileSync(log('postgres.log'), 'utf8').includes('column "nonsense" does not exist'))
  expect(readFileSync(log('postgres.log'), 'utf8')).not.toMatch(/[\0x]{3}/)
})
