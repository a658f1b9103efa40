import { rmSync } from 'node:fs'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { newFolder, TestHome } from './homes.ts'
import { endLeft } from './processes.ts'
import { program } from './program.ts'
import { brokenPromises } from './promises.ts'

/** The server of one data dir, used by other data dirs through DATABASE_URL, as any server of somebody else's. */
export interface SharedServer {
  /** The URL of an empty database. */
  emptyDatabase(): Promise<string>
  /** A data dir on such a database, initialised when first used. It is removed after the test. */
  newHome(databaseUrl: string): TestHome
  /** Two data dirs on one database, made by `init`. */
  twoNodes(): Promise<[TestHome, TestHome]>
}

/** A server for all tests of a file. What a test starts must have ended by its end. */
export function useSharedServer(): SharedServer {
  let serverDir: string
  let serverUrl: string
  let admin: pg.Pool
  let count = 0
  const homes: TestHome[] = []
  const server = (...args: string[]) => program(args, { env: { DATA_DIR: serverDir } })

  beforeAll(async () => {
    serverDir = newFolder()
    for (const args of [['init'], ['db', 'start']]) {
      const { code, stderr } = await server(...args)
      expect(code, stderr).toBe(0)
    }
    serverUrl = (await server('db', 'url')).stdout.trim()
    admin = new pg.Pool({ connectionString: serverUrl, max: 1 })
    admin.on('error', () => {})
  })
  afterEach(async ({ task }) => {
    const left = (await Promise.all(homes.map(({ dataDir }) => endLeft(dataDir)))).flat()
    // Each data dir counts its own terms.
    const several = homes.length > 1 ? ['a term has one leader'] : []
    for (const home of homes.splice(0)) {
      const broken = task.result?.state === 'fail' ? [] : await brokenPromises(home)
      await home.close()
      rmSync(home.dataDir, { recursive: true, force: true })
      expect(broken.filter((promise) => !several.includes(promise))).toEqual([])
    }
    if (task.result?.state !== 'fail') expect(left.map(({ command }) => command)).toEqual([])
  })
  afterAll(async () => {
    await admin.end()
    await server('db', 'stop', '--force')
    const left = await endLeft(serverDir)
    rmSync(serverDir, { recursive: true, force: true })
    expect(left).toEqual([])
  })
  const emptyDatabase = async () => {
    const name = `external_${++count}`
    await admin.query(`create database ${name}`)
    return serverUrl.replace('/archivebox?', `/${name}?`)
  }
  const newHome = (databaseUrl: string) => {
    const home = new TestHome(newFolder(), databaseUrl, {})
    homes.push(home)
    return home
  }
  return {
    emptyDatabase,
    newHome,
    async twoNodes() {
      const url = await emptyDatabase()
      const both: [TestHome, TestHome] = [newHome(url), newHome(url)]
      for (const home of both) expect((await home.run(['init'])).code).toBe(0)
      return both
    },
  }
}
