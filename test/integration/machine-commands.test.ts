import { expect, it } from 'vitest'
import { useHomes } from '../support/homes.ts'
import { expectRefused } from '../support/refused.ts'

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
  const shown = await home.run(['machine', 'show', String(here['id']).slice(-8)])
  expect(JSON.parse(shown.stdout)).toMatchObject({
    id: here['id'],
    programs: [{ name: 'wget', status: 'queued', path: null, version: null, message: 'wget not found' }],
  })
  expectRefused(await home.run(['machine', 'show', 'ffffffff']), 'there is no machine ffffffff')
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
})
