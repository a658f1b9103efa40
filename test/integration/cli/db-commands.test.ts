import { readdirSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLed } from '../../../src/app/open/led-home.ts'
import { openArchive } from '../../../src/app/open/open-archive.ts'
import { FileLock } from '../../../src/base/file-lock.ts'
import { openHome, withBareDatabase } from '../../../src/cli/home.ts'
import { atTheDoor } from '../../../src/cli/settings.ts'
import { ping } from '../../../src/db/database.ts'
import { migrations } from '../../../src/db/migrate.ts'
import { newFolder, useHomes } from '../../support/homes.ts'
import { endLeft, processesOf } from '../../support/processes.ts'
import { eventually, program, start } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(3)
})
afterAll(() => site.close())

type Fields = Record<string, unknown>

const records = (stdout: string) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Fields)

/** The files that this process has open. */
const openFiles = () =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return [] // The one of the folder itself.
    }
  })

describe('db', () => {
  let folder: string
  const cli = (...args: string[]) => program(args, { env: { DATA_DIR: join(folder, 'data') } })
  const server = () => processesOf(folder).filter(({ command }) => command.includes('postgres'))

  beforeAll(async () => {
    folder = newFolder()
    const { code, stderr } = await cli('init')
    expect(code, stderr).toBe(0)
  })
  afterAll(async () => {
    await cli('db', 'stop', '--force')
    const left = await endLeft(folder)
    rmSync(folder, { recursive: true, force: true })
    expect(left).toEqual([])
  })

  it('is down after a command, and status reads it and leaves it down', async () => {
    expect(server()).toEqual([])
    const { code, stdout, stderr } = await cli('status', '--json')
    expect(code, stderr).toBe(3)
    expect(JSON.parse(stdout)).toMatchObject({ database: { kind: 'embedded' }, runner: { state: 'none' } })
    await eventually(() => server().length === 0)
    expect(JSON.parse((await cli('db', 'status')).stdout)).toMatchObject({
      kind: 'embedded',
      running: false,
      pid: null,
      url: null,
    })
    const url = await cli('db', 'url')
    expect(url.code).toBe(1)
    expect(url.stderr).toMatch(/not running[\s\S]*db start/)
    expect(url.stdout).toBe('')
  })

  it('stays up from start to stop, through whoever comes and goes', async () => {
    expect((await cli('db', 'start')).stderr).toMatch(/started/)
    const status = JSON.parse((await cli('db', 'status')).stdout) as Fields
    expect(status).toMatchObject({ kind: 'embedded', running: true })
    const pid = Number(status['pid'])
    expect(server().some((one) => one.pid === pid)).toBe(true)
    expect((await cli('db', 'url')).stdout.trim()).toMatch(/^postgres(ql)?:\/\//)

    const again = await cli('db', 'start')
    expect(again.code).toBe(0)
    expect(again.stderr).toMatch(/running already/)
    const added = await cli('add', '--plugins', 'html', `${site.url}/page-1.html`)
    expect(added.code, added.stderr).toBe(0)
    expect((await cli('status')).code).toBe(3)
    expect(JSON.parse((await cli('db', 'status')).stdout)).toMatchObject({ running: true, pid })

    const stopped = await cli('db', 'stop')
    expect(stopped.code, stopped.stderr).toBe(0)
    await eventually(() => server().length === 0)
    expect(JSON.parse((await cli('db', 'status')).stdout)).toMatchObject({ running: false })
    const nothing = await cli('db', 'stop')
    expect(nothing.code).toBe(0)
    expect(nothing.stderr).toMatch(/was not running/)
  })

  it('is held up for a moment by the runner alone, and stopped by the last who leaves', async () => {
    const dataDir = join(folder, 'data')
    const runner = start(['run', '--daemon', '--exclude', 'crawl'], { env: { DATA_DIR: dataDir } })
    await eventually(() => runner.stderr.includes('leading'))
    const open = await openHome(await atTheDoor({ dataDir }, false), 'never', { isBrief: true })
    const { home } = open
    expect(openFiles().filter((file) => file.includes('.postgres-users'))).toEqual([])
    expect(await isLed(home)).toBe(true)
    const stopped = { signal: AbortSignal.abort() }
    const given = await atTheDoor({ dataDir }, false)
    await expect(openArchive(given, { create: 'never', isBrief: true }, stopped)).rejects.toMatchObject({
      exitCode: 130,
    })
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
    await ping(home.db) // The runner has seen our connection.
    expect(await isLed(home)).toBe(false)
    await sql`update process set status = 'running', ended_at = null, exit_code = null
      where worker_type = 'worker_runner'`.execute(home.db)
    expect(await isLed(home)).toBe(false) // A row that a crash has left says nothing.
    await open.close()
    await eventually(() => server().length === 0)
  })

  it('keeps no refused command waiting while somebody starts or stops it', async () => {
    const dataDir = join(folder, 'data')
    const runner = start(['run', '--daemon', '--exclude', 'crawl'], { env: { DATA_DIR: dataDir } })
    await eventually(() => runner.stderr.includes('leading'))
    const lock = new FileLock(join(dataDir, '.postgres-lock'))
    await lock.exclusive()
    try {
      const { code, stderr } = await program(['run'], { env: { DATA_DIR: dataDir, MAX_SNAPSHOT_WORKERS: 'x' } })
      expect(code, stderr).toBe(2)
      expect(stderr).toMatch(/^error: MAX_SNAPSHOT_WORKERS=x/)
    } finally {
      lock.release()
    }
    runner.signal('SIGTERM')
    expect((await runner.finished()).code).toBe(0)
    await eventually(() => server().length === 0)
  })

  it('is down again after a command that follows a stop', async () => {
    const { code, stdout } = await cli('crawl', 'list')
    expect(code).toBe(0)
    expect(records(stdout)).toMatchObject([{ type: 'Crawl', status: 'queued' }])
    await eventually(() => server().length === 0)
  })

  it('is waited for by one who heeds a signal, and then left to whatever the signal does by itself', async () => {
    const given = await atTheDoor({ dataDir: join(folder, 'data') }, false)
    const before = process.listenerCount('SIGTERM')
    await withBareDatabase(given, 'never', async () => expect(process.listenerCount('SIGTERM')).toBe(before))
    await eventually(() => server().length === 0)
  })

  it('start and stop are refused for a database that is not ours', async () => {
    const home = await homes.make()
    for (const verb of ['start', 'stop']) {
      const { code, stderr } = await home.run(['db', verb])
      expect(code).toBe(2)
      expect(stderr).toMatch(/for the embedded server/)
    }
    expect((await home.run(['db', 'url'])).stdout.trim()).toBe(home.databaseUrl)
    expect(JSON.parse((await home.run(['db', 'status'])).stdout)).toMatchObject({
      kind: 'external',
      running: true,
      schema: migrations().at(-1)!.version,
    })
  })
})
