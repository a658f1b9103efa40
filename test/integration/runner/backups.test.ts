// Backups that a leader makes: when one is due, as many as are to be kept, and none that is not whole.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { removeRemains } from '../../../src/app/backup/own-files.ts'
import { inspectBackup } from '../../../src/db/backup/backup-file.ts'
import { useDatabases } from '../../support/engine.ts'
import { newFolder, type TestHome, useHomes } from '../../support/homes.ts'
import { noTerminal, onTerminal } from '../../support/on-terminal.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, program } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
const databases = useDatabases()
let site: Site
let home: TestHome
let folder: string
let env: Record<string, string>

beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())
beforeEach(async () => {
  home = await homes.make()
  folder = newFolder()
  env = { BACKUP_EVERY: 'hour', BACKUP_DIR: folder, BACKUP_KEEP: '2', BACKUP_CHECK: 'read' }
  return () => rmSync(folder, { recursive: true, force: true })
})

const backups = () => readdirSync(folder).filter((name) => name.endsWith('.zst'))
const rows = async () =>
  await home.query<{ status: string; file: string; why: string | null; checked: string | null }>(
    'select status, file, why, checked from backup order by begun_at',
  )
/** Makes the last ones this much older. */
const age = async (interval: string) =>
  await home.query(`update backup set begun_at = begun_at - $1::interval, ended_at = ended_at - $1::interval`, [
    interval,
  ])
const facts = async () =>
  (JSON.parse((await home.run(['status', '--json'], { env })).stdout) as { backup: Record<string, unknown> }).backup
const doctor = async () =>
  (await home.run(['doctor', '--json'], { env })).stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { name: string; status: string; message: string })
    .find(({ name }) => name === 'backup')

async function runOnce(more: Record<string, string> = {}): Promise<string> {
  const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { ...env, ...more } })
  expect(code, stderr).toBe(0)
  return stderr
}

/** Lets no backup get beyond the rows of this table until the returned function is called. */
async function heldUp(): Promise<() => Promise<void>> {
  const client = new pg.Client(home.databaseUrl)
  await client.connect()
  await client.query('begin')
  await client.query('lock table crawl_detail in access exclusive mode')
  return async () => await client.end()
}

it('are made when one is due, are checked, and can be restored', async () => {
  await home.add('--plugins', 'headers', `${site.url}/page-1.html`)
  expect(await runOnce({ BACKUP_CHECK: 'restore' })).toContain('made a backup')
  const [name] = backups()
  expect(backups()).toEqual([expect.stringMatching(/^archivebox-[0-9a-f]{8}-\d{8}T\d{9}Z\.zst$/)])
  expect(await rows()).toEqual([{ status: 'succeeded', file: join(folder, name!), why: null, checked: 'restored' }])
  expect(await facts()).toMatchObject({
    last: { file: join(folder, name!), is_scheduled: true },
    failed: null,
    every_s: 3_600,
  })
  expect(await doctor()).toMatchObject({ status: 'green', message: expect.stringContaining('the last one is') })
  // It is not due again: not in the next run, and not for one that was made by hand.
  expect(await runOnce()).not.toContain('backup')
  const there = await databases.make()
  const dataDir = newFolder()
  const { code, stderr } = await program(['restore', join(folder, name!)], {
    env: { DATA_DIR: dataDir, DATABASE_URL: there.url },
  })
  rmSync(dataDir, { recursive: true })
  expect(code, stderr).toBe(0)
  expect(await there.value('select count(*)::int from crawl')).toBe(1)
})

it('are not made while one by hand is new enough', async () => {
  expect((await home.run(['backup', join(folder, 'by-hand.zst')])).code).toBe(0)
  await runOnce()
  expect(backups()).toEqual(['by-hand.zst'])
  expect(await facts()).toMatchObject({ last: { is_scheduled: false }, failed: null })
  await age('2 h')
  await runOnce()
  expect(backups().length).toBe(2)
})

it('are kept as many as BACKUP_KEEP says; what else lies there is left alone', async () => {
  for (let count = 1; count <= 2; count += 1) {
    await runOnce()
    await age('2 h')
  }
  const [oldest, newer] = backups().sort() as [string, string]
  // Ones that look like ours: without a row; with a row, but of other content.
  const stranger = oldest.replace(/\d{8}T/, '20200101T')
  copyFileSync(join(folder, oldest), join(folder, stranger))
  writeFileSync(join(folder, 'notes.txt'), 'x')
  copyFileSync(join(folder, newer), join(folder, 'aside'))
  renameSync(join(folder, 'aside'), join(folder, oldest))
  await runOnce()
  await age('2 h')
  await runOnce()
  const left = backups()
  expect(left).toEqual(expect.arrayContaining([stranger, oldest]))
  expect(left).not.toContain(newer)
  expect(left.length).toBe(4)
  expect(existsSync(join(folder, `${newer}.files`))).toBe(false)
  expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('x')
  expect((await rows()).length).toBe(2)
})

it('count for nothing when they are killed; the next one removes what they left', async () => {
  const letGo = await heldUp()
  const runner = home.start(['run'], { env })
  await eventually(() => readdirSync(folder).some((name) => name.endsWith('.part')))
  const { stdout } = await home.run(['process', 'tree'])
  expect(stdout).toContain('cli')
  expect((await facts())['last']).toBeNull()
  await home.kill(runner)
  await letGo()
  const [left, ...others] = readdirSync(folder)
  expect([left, others]).toEqual([expect.stringMatching(/\.part$/), []])
  // Its pid may be that of another process by now.
  renameSync(join(folder, left!), join(folder, left!.replace(/\d+\.part$/, `${process.pid}.part`)))
  expect(await facts()).toMatchObject({ last: null })
  await runOnce()
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
  expect((await rows()).map(({ status }) => status)).toEqual(['succeeded'])
  await inspectBackup(join(folder, backups()[0]!))
})

it('by hand remove what was left by a process with the same pid, as in containers, and nothing of one that lives', async () => {
  const part = (pid: number) => `mine.zst.${pid}.part`
  for (const pid of [process.pid, process.ppid]) writeFileSync(join(folder, part(pid)), '')
  await removeRemains({ file: join(folder, 'mine.zst'), is_scheduled: false })
  expect(readdirSync(folder)).toEqual([part(process.ppid)])
})

it('leave no database behind when they are killed while they are tried', async () => {
  const runner = home.start(['run'], { env: { ...env, BACKUP_CHECK: 'restore' } })
  await eventually(() => readdirSync(folder).some((name) => existsSync(join(folder, name, 'postgres'))))
  await home.kill(runner)
  expect(await facts()).toMatchObject({ last: null })
  await runOnce()
  expect(readdirSync(folder).length).toBe(2)
  expect((await rows()).map(({ status }) => status)).toEqual(['succeeded'])
  expect(processesOf(folder).map(({ command }) => command)).toEqual([])
})

it('leave nothing when a lead ends while they are tried', async () => {
  const runner = home.start(['run'], { env: { ...env, BACKUP_CHECK: 'restore' } })
  await eventually(() => readdirSync(folder).some((name) => existsSync(join(folder, name, 'postgres'))))
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
  // On a slow machine it was killed in the middle: then the next one removes the rest.
  if (readdirSync(folder).length > 0) await runOnce()
  expect(backups().length).toBe((await rows()).length)
  expect(readdirSync(folder).filter((name) => /\.(?:check|part)$/.test(name))).toEqual([])
  expect(processesOf(folder).map(({ command }) => command)).toEqual([])
})

it('by hand touch nothing that lies where the trial would be', async () => {
  const file = join(folder, 'mine.zst')
  mkdirSync(`${file}.check`, { recursive: true })
  writeFileSync(join(`${file}.check`, 'thesis.txt'), 'mine')
  const { code, stderr } = await home.run(['backup', '--check', file])
  expect(code, stderr).toBe(2)
  expect(stderr).toMatch(/mine\.zst\.check is in the way of the trial restore/)
  expect(readdirSync(`${file}.check`)).toEqual(['thesis.txt'])
  expect(await rows()).toEqual([])
})

it('by hand are restored on trial with --check', async () => {
  const { code, stderr } = await home.run(['backup', '--check', join(folder, 'by-hand.zst')])
  expect([code, stderr]).toEqual([0, expect.stringContaining('it was restored on trial')])
  expect(await rows()).toMatchObject([{ status: 'succeeded', checked: 'restored' }])
  expect(readdirSync(folder).sort()).toEqual(['by-hand.zst', 'by-hand.zst.files'])
})

it('say so when they fail, and do not stop the work', async () => {
  writeFileSync(join(folder, 'a file'), '')
  await home.add('--plugins', 'headers', `${site.url}/page-1.html`)
  const broken = { BACKUP_DIR: join(folder, 'a file', 'below') }
  expect(await runOnce(broken)).toMatch(/the backup failed: .*a file.* cannot be made/)
  expect(await home.value("select count(*)::int from snapshot where status = 'sealed'")).toBe(1)
  expect(await facts()).toMatchObject({ last: null, failed: { why: expect.stringContaining('cannot be made') } })
  expect(await doctor()).toMatchObject({ status: 'yellow', message: expect.stringContaining('cannot be made') })
  expect((await home.run(['status', '--prometheus'], { env })).stdout).toContain('\narchivebox_backup_failed 1\n')
  // Not again and again, but after an hour; also when the one before it was good.
  expect(await runOnce(broken)).not.toContain('backup')
  await age('2 h')
  await runOnce()
  expect(await doctor()).toMatchObject({ status: 'green' })
  await age('2 h')
  await runOnce({ DISK_FLOOR: '900000000' })
  expect(await facts()).toMatchObject({
    last: { is_scheduled: true },
    failed: { why: expect.stringMatching(/free in/) },
  })
  expect(await doctor()).toMatchObject({ status: 'yellow' })
})

it.skipIf(noTerminal)('that failed are on the screen, with the whole reason', async () => {
  await runOnce({ BACKUP_DIR: '/proc/none' })
  const screen = await onTerminal(home, ['status'])
  expect(screen).toMatch(/^backup {5}failed \d+ s ago, none yet$/m)
  expect(screen.replaceAll(/\s+/g, ' ')).toContain('no backup /proc/none cannot be made: ENOENT')
})

it('end with a lead that is over, and leave nothing', async () => {
  const letGo = await heldUp()
  const runner = home.start(['run'], { env })
  await eventually(() => readdirSync(folder).some((name) => name.endsWith('.part')))
  runner.signal('SIGTERM')
  expect((await runner.finished()).code).toBe(0)
  await letGo()
  expect([readdirSync(folder), await rows()]).toEqual([[], []])
})

it('that are late or gone are not green', async () => {
  await runOnce()
  await age('90 min')
  expect(await doctor()).toMatchObject({ status: 'yellow', message: expect.stringContaining('BACKUP_EVERY') })
  await age('-90 min')
  expect(await doctor()).toMatchObject({ status: 'green' })
  rmSync(join(folder, backups()[0]!))
  expect(await doctor()).toMatchObject({ status: 'yellow', message: expect.stringContaining('is gone') })
})
