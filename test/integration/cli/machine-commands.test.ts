import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { machineFile, machineGuid } from '../../../src/base/machine-file.ts'
import { newFolder, useHomes } from '../../support/homes.ts'
import { program } from '../../support/program.ts'
import { expectRefused } from '../../support/refused.ts'

const homes = useHomes()

it('machines are listed with what runs there, and shown with the programs that were looked for', async () => {
  const home = await homes.make()
  await home.query(
    `insert into machine (id, guid, hostname, os_platform, os_arch)
     values ('01994f6e-0c1a-7c3e-9d55-0123456789ab', 'other', 'elsewhere', 'linux', 'arm64')`,
  )
  const runner = home.start(['run'])
  await runner.says(/leading/)
  const { stdout, code, stderr } = await home.run(['machine', 'list'])
  expect(code, stderr).toBe(0)
  const all = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(all).toHaveLength(2)
  const here = all.find((machine) => machine['here'])!
  expect(here).toMatchObject({ type: 'Machine', runner: true, heartbeat_at: expect.any(String) })
  expect(Number(here['processes'])).toBeGreaterThan(0)
  expect(all.find((machine) => !machine['here'])).toEqual({
    type: 'Machine',
    id: '01994f6e-0c1a-7c3e-9d55-0123456789ab',
    hostname: 'elsewhere',
    os_platform: 'linux',
    os_arch: 'arm64',
    here: false,
    processes: 0,
    runner: false,
    heartbeat_at: null,
    created_at: expect.any(String),
  })
  await home.query(
    `insert into "binary" (id, machine_id, name, status, message)
     values ('01994f6e-0c1a-7c3e-9d55-000000000001', $1, 'wget', 'queued', 'wget not found')`,
    [here['id']],
  )
  const folder = join(home.dataDir, 'machines')
  mkdirSync(folder)
  writeFileSync(join(folder, machineFile('other')), 'TIMEOUT = 5\n')
  writeFileSync(join(folder, machineFile(machineGuid())), 'SSL_KEY_DIR = "/k"\nDISK_FLOOR = 3\n')
  const shown = await home.run(['machine', 'show'])
  expect(JSON.parse(shown.stdout)).toMatchObject({
    id: here['id'],
    settings: { SSL_KEY_DIR: '***', DISK_FLOOR: '3' },
    programs: [{ name: 'wget', status: 'queued', path: null, version: null, message: 'wget not found' }],
  })
  const other = await home.run(['machine', 'show', '01994f6e'])
  expect(JSON.parse(other.stdout)).toMatchObject({ hostname: 'elsewhere', settings: { TIMEOUT: '5' } })
  expectRefused(await home.run(['machine', 'show', 'ffffffff']), 'there is no machine ffffffff')
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
})

it('a machine has settings of its own, which win over archivebox.toml and are checked like those', async () => {
  const dataDir = newFolder()
  const run = async (words: string, env = {}) => await program(words.split(' '), { env: { DATA_DIR: dataDir, ...env } })
  try {
    writeFileSync(join(dataDir, 'archivebox.toml'), 'TIMEOUT = 30\n')
    expectRefused(
      await run('machine set TIMEUOT=3 DISK_FLOOR=lots DATA_DIR=/x'),
      'TIMEUOT is not a setting: did you mean TIMEOUT?',
      'DISK_FLOOR=lots: it takes a number of MB',
      'DATA_DIR cannot be set in',
    )
    const set = await run('machine set timeout=20 DISK_FLOOR=7', { TIMEOUT: '9' })
    expect(set.code, set.stderr).toBe(0)
    expect(set.stderr).toContain('warning: TIMEOUT is also set in the environment, which overrides this')
    const file = join(dataDir, 'machines', machineFile(machineGuid()))
    expect(readFileSync(file, 'utf8')).toBe('TIMEOUT = 20\nDISK_FLOOR = 7')
    expect(readFileSync(join(dataDir, 'archivebox.toml'), 'utf8')).toBe('TIMEOUT = 30\n')
    const got = (await run('config get TIMEOUT --json')).stdout
    expect(JSON.parse(got)).toMatchObject({ value: 20, source: 'machine' })
    expect((await run('config set TIMEOUT=40')).stderr).toContain(
      `TIMEOUT is also set in ${file}, which overrides this`,
    )
    expect((await run('machine unset TIMEOUT')).stderr).toContain('TIMEOUT removed')
    expect((await run('config get --value TIMEOUT DISK_FLOOR')).stdout).toBe('40\n7\n')
    writeFileSync(file, 'DISK_FLOOR = "lots"\n')
    expectRefused(await run('status'), `DISK_FLOOR=lots: it takes a number of MB, 0 or more (set in ${file})`)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})
