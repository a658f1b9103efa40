import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FileLock } from '../../../src/base/file-lock.ts'
import { serverAccount } from '../../../src/db/embedded/account.ts'
import { addressOf, urlOf } from '../../../src/db/embedded/address.ts'
import { makeLinks } from '../../../src/db/embedded/binaries.ts'
import { clusterOf } from '../../../src/db/embedded/cluster.ts'
import { initialise } from '../../../src/db/embedded/initialise.ts'
import { olderPrograms } from '../../../src/db/embedded/older-programs.ts'
import { startServer } from '../../../src/db/embedded/start.ts'
import { shutDown } from '../../../src/db/embedded/stop.ts'
import { newFolder } from '../../support/homes.ts'
import { endLeft, processesOf } from '../../support/processes.ts'
import { type Call, program } from '../../support/program.ts'

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

  it('moves everything, and keeps the old database', async () => {
    dataDir = join(folder, 'old')
    makeLinks(NATIVE)
    const account = serverAccount()
    const older = olderPrograms(MAJOR, account, bin, () => {})
    await done(['init'])
    rmSync(join(dataDir, 'postgres'), { recursive: true })
    const cluster = clusterOf(dataDir)
    const lock = new FileLock(cluster.startLock)
    await initialise(cluster, older, account, lock, () => {})
    lock.release()
    await startServer(cluster, older, account)
    const env = { DATABASE_URL: urlOf(addressOf(cluster.pgdata)) }
    await done(['snapshot', 'create', '--tag', 'old', 'https://example.com/1', 'https://example.com/2'], { env })
    const before = (await done(['export'], { env })).stdout
    await shutDown(cluster, 'fast')

    const refused = await cli(['snapshot', 'list'])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/made by PostgreSQL 17[\s\S]*db upgrade/)
    const wrong = await cli(['db', 'upgrade', '--programs', folder])
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/no pg_ctl/)

    const { stderr } = await done(['db', 'upgrade', '--programs', bin])
    expect(stderr).toMatch(/moved from PostgreSQL 17 to 18; the old database stays in .*postgres\.17/)
    expect((await done(['export'])).stdout).toBe(before)
    expect(JSON.parse((await done(['db', 'status'])).stdout)).toMatchObject({ server_version: 18, running: false })
    expect(readdirSync(dataDir).filter((name) => name.startsWith('postgres'))).toEqual(['postgres', 'postgres.17'])
    expect(processesOf(folder)).toEqual([])
  })
})
