import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FileLock } from '../../../src/base/file-lock.ts'
import { serverAccount } from '../../../src/db/embedded/account.ts'
import { addressOf, urlOf } from '../../../src/db/embedded/address.ts'
import { makeLinks } from '../../../src/db/embedded/binaries.ts'
import { type Cluster, clusterOf } from '../../../src/db/embedded/cluster.ts'
import { initialise } from '../../../src/db/embedded/initialise.ts'
import { olderPrograms } from '../../../src/db/embedded/older-programs.ts'
import { startServer } from '../../../src/db/embedded/start.ts'
import { shutDown } from '../../../src/db/embedded/stop.ts'
import { noMounts } from '../../support/containers.ts'
import { newFolder } from '../../support/homes.ts'
import { endLeft, processesOf } from '../../support/processes.ts'
import { type Call, eventually, program, start } from '../../support/program.ts'

const MAJOR = 17
/** The package of that major: `npm run test:postgres -- 17` fetches it, and names it here. */
const NATIVE = process.env['OLDER_POSTGRES'] ?? ''

let folder: string
let dataDir: string
beforeAll(() => {
  folder = newFolder()
  dataDir = join(folder, 'data')
})
afterAll(async () => {
  const left = await endLeft(folder)
  rmSync(folder, { recursive: true, force: true })
  expect(left).toEqual([])
})

const cli = async (args: readonly string[], call: Call = {}) =>
  await program(args, { ...call, env: { DATA_DIR: dataDir, ...call.env } })
const done = async (args: readonly string[], call: Call = {}) => {
  const { code, stdout, stderr } = await cli(args, call)
  expect(code, stderr).toBe(0)
  return { stdout, stderr }
}

describe('db upgrade', () => {
  it('has nothing to do for a database of the installed version', async () => {
    await done(['init'])
    expect((await done(['db', 'upgrade'])).stderr).toMatch(/nothing to do/)
    expect((await cli(['db', 'upgrade'], { env: { DATABASE_URL: 'postgres://somewhere/x' } })).code).toBe(2)
  })

  it('that was killed between its two renames is finished by the next command', async () => {
    await done(['add', 'https://example.com/kept'])
    writeFileSync(join(dataDir, '.postgres-upgraded'), '')
    renameSync(join(dataDir, 'postgres'), join(dataDir, 'postgres.next'))
    expect(JSON.parse((await done(['crawl', 'list'])).stdout)).toMatchObject({ urls: ['https://example.com/kept'] })
    expect(readdirSync(dataDir).filter((name) => /next|upgraded/.test(name))).toEqual([])
  })
})

describe.skipIf(NATIVE === '')(`db upgrade from ${MAJOR} (needs npm run test:postgres -- ${MAJOR})`, () => {
  const bin = join(NATIVE, 'bin')
  let cluster: Cluster
  let before: string

  /** A data dir as an older program has left it, with pages. */
  async function makeOld(name: string, pages: number): Promise<void> {
    dataDir = join(folder, name)
    makeLinks(NATIVE)
    const account = serverAccount()
    const older = olderPrograms(MAJOR, account, bin, () => {})
    await done(['init'])
    rmSync(join(dataDir, 'postgres'), { recursive: true })
    cluster = clusterOf(dataDir)
    const lock = new FileLock(cluster.startLock)
    await initialise(cluster, older, account, lock, () => {})
    lock.release()
    await startServer(cluster, older, account)
    const env = { DATABASE_URL: urlOf(addressOf(cluster.pgdata)) }
    const input = Array.from({ length: pages }, (_, n) => `https://example.com/${n}\n`).join('')
    await done(['snapshot', 'create', '--tag', 'old'], { env, input })
    before = (await done(['export'], { env })).stdout
    expect(before.trim().split('\n')).toHaveLength(pages)
    await shutDown(cluster, 'fast')
  }

  const left = () => readdirSync(dataDir).filter((name) => name.startsWith('postgres'))

  it('moves everything, and keeps the old database', async () => {
    await makeOld('old', 2)
    const refused = await cli(['snapshot', 'list'])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/made by PostgreSQL 17[\s\S]*db upgrade/)
    const wrong = await cli(['db', 'upgrade', '--programs', folder])
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/no pg_ctl/)

    const { stderr } = await done(['db', 'upgrade', '--programs', bin])
    expect(stderr).toMatch(/copying [\d.]+ MB from PostgreSQL 17 to 18: up to \d+ s, and [\d.]+ MB of disk/)
    expect(stderr).toMatch(/upgraded from PostgreSQL 17 to 18; the old database is kept in .*postgres\.17/)
    expect((await done(['export'])).stdout).toBe(before)
    expect(JSON.parse((await done(['db', 'status'])).stdout)).toMatchObject({ server_version: 18, running: false })
    expect(left()).toEqual(['postgres', `postgres.${MAJOR}`])
    expect(processesOf(folder)).toEqual([])
  })

  it('that was killed while it copied begins anew, and loses nothing', async () => {
    await makeOld('killed', 20_000)
    const killed = start(['db', 'upgrade', '--programs', bin], { env: { DATA_DIR: dataDir } })
    await eventually(() => readdirSync(dataDir).includes('postgres.rows'))
    await eventually(() => readdirSync(join(dataDir, 'postgres.rows')).length > 0)
    killed.signal('SIGKILL')
    await killed.finished()
    expect(left()).toEqual(['postgres', 'postgres.next', 'postgres.rows'])

    await done(['db', 'upgrade', '--programs', bin])
    expect((await done(['export'])).stdout).toBe(before)
    expect(left()).toEqual(['postgres', `postgres.${MAJOR}`])
  })

  it.skipIf(noMounts)('without room for a second database changes nothing', async () => {
    await makeOld('no-room', 2)
    const small = ['mount', '-t', 'tmpfs', '-o', 'size=200m,mode=755', 'tmpfs', '/mnt']
    const copied = `${small.join(' ')} && cp -a "$DATA_DIR" /mnt/data && DATA_DIR=/mnt/data exec "$@"`
    const under = ['unshare', '--mount', 'sh', '-c', copied, 'sh']
    const { code, stderr } = await cli(['db', 'upgrade', '--programs', bin], { under })
    expect(stderr).toMatch(/the upgrade needs [\d.]+ MB beside the old database, but [\d.]+ MB are free in \/mnt\/data/)
    expect(stderr).toMatch(/free some space and try again: nothing was changed/)
    expect(code).toBe(1)
  })
})
