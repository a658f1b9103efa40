import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, gunzipSync } from 'node:zlib'
import { newFolder } from '../support/folders.ts'
import { TestHome } from '../support/homes.ts'
import { killAll, processesOf } from '../support/processes.ts'
import { eventually } from '../support/program.ts'

/** Who has this is logged in: it is in the persona, in the environment and in the user's folder, and nowhere else. */
export const SECRET = `secret-${createHash('sha256').update(String(process.pid)).digest('hex').slice(0, 24)}`

/** What is in a file, and in the parts of it that are packed. */
function unpacked(file: string): Buffer {
  const bytes = readFileSync(file)
  if (!/\.(?:gz|wacz)$/.test(file)) return bytes
  // A WACZ has its WARC packed in itself: each record of one begins like this.
  const parts = [bytes]
  const record = Buffer.from([0x1f, 0x8b, 8])
  for (let at = bytes.indexOf(record); at >= 0; at = bytes.indexOf(record, at + 1)) {
    try {
      parts.push(gunzipSync(bytes.subarray(at), { finishFlush: constants.Z_SYNC_FLUSH }))
      if (file.endsWith('.gz')) break // All that follow are in it.
    } catch {
      // These bytes began none.
    }
  }
  return Buffer.concat(parts)
}

/** A data dir with its own server in a house with other rooms, which are not to be entered. */
export class House {
  readonly home: TestHome
  readonly folder: string
  readonly #outside: string

  private constructor(folder: string, home: TestHome) {
    this.folder = folder
    this.home = home
    this.#outside = this.#around()
  }

  static async build(env: Readonly<Record<string, string>>): Promise<House> {
    const folder = realpathSync(newFolder())
    for (const room of ['user', 'tmp', 'beside']) mkdirSync(join(folder, room))
    writeFileSync(join(folder, 'user', 'key'), SECRET)
    writeFileSync(join(folder, 'beside', 'private.txt'), `${SECRET}\n`)
    const dataDir = join(folder, 'data')
    mkdirSync(dataDir)
    const all = { DATABASE_URL: '', HOME: join(folder, 'user'), TMPDIR: join(folder, 'tmp'), ...env, API_TOKEN: SECRET }
    const home = new TestHome(dataDir, '', all)
    // Whatever runs in it by now must not stay.
    const giveUp = async () => {
      await home.run(['db', 'stop', '--force'])
      rmSync(folder, { recursive: true, force: true })
    }
    for (const args of [['init'], ['db', 'start'], ['persona', 'new', 'known']]) {
      const { code, stderr } = await home.run(args)
      if (code === 0) continue
      await giveUp()
      throw new Error(stderr)
    }
    const url = (await home.run(['db', 'url'])).stdout.trim()
    return new House(folder, new TestHome(dataDir, url, all))
  }

  /** Has the persona `known` a cookie for this site. */
  async login(site: string): Promise<void> {
    const cookies = join(this.folder, 'cookies.json')
    const cookie = { name: 'session', value: SECRET, domain: new URL(site).hostname, path: '/' }
    writeFileSync(cookies, JSON.stringify([cookie]))
    const { code, stderr } = await this.home.run(['persona', 'import', 'known', cookies])
    rmSync(cookies)
    if (code !== 0) throw new Error(stderr)
  }

  /** What is there outside of the data dir that was not, or is not what it was. */
  changed(): string[] {
    const now = this.#around()
    return now === this.#outside ? [] : [`outside of the data dir: ${now}, and was ${this.#outside}`]
  }

  /** Files of the data dir that have the secret in them, packed or not; the persona and the database may have it. */
  leaks(): string[] {
    const { dataDir } = this.home
    const isKept = (path: string) => /^(?:personas|postgres|\.hooks-\d+\/(?:personas|own))(?:\/|$)/.test(path)
    const found: string[] = []
    const folders = ['']
    for (const folder of folders)
      for (const entry of readdirSync(join(dataDir, folder), { withFileTypes: true })) {
        const path = join(folder, entry.name)
        if (isKept(path)) continue
        if (entry.isDirectory()) folders.push(path)
        else if (entry.isFile() && unpacked(join(dataDir, path)).includes(SECRET)) found.push(path)
      }
    return found
  }

  /** Ends what is left and removes the house. @returns what was left */
  async tearDown(): Promise<string[]> {
    await this.home.run(['db', 'stop', '--force'], { env: { DATABASE_URL: '' } })
    await this.home.close()
    const left = () => processesOf(this.home.dataDir)
    await eventually(() => left().length === 0, 30_000).catch(() => {})
    const stayed = left().map(({ command }) => `left running: ${command}`)
    killAll(left())
    rmSync(this.folder, { recursive: true, force: true })
    return stayed
  }

  #around(): string {
    const files = globSync('{user,beside}/**/*', { cwd: this.folder }).filter(
      (path) => !/\/(?:\.cache|\.config)/.test(path),
    )
    const isKept = (file: string) => readFileSync(file, 'utf8').trim() === SECRET
    const named = files.toSorted().map((path) => {
      const file = join(this.folder, path)
      return statSync(file).isFile() ? `${path} ${isKept(file)}` : path
    })
    const beside = globSync('*', { cwd: this.folder }).toSorted()
    return [...beside, ...named].join(', ')
  }
}
