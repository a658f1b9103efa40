import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { newFolder, TestHome } from '../support/homes.ts'
import { Observer } from '../support/observer.ts'
import { isThere, killAll, processesOf } from '../support/processes.ts'
import { eventually, WITH_BROWSER } from '../support/program.ts'
import { type Site, startSite } from '../support/site.ts'
import { type Finding, verdict } from '../support/verdict.ts'
import { calmDown } from './calm.ts'
import { CAPTURES, captureCounts, capturesVerdict } from './captures.ts'
import { Ledger } from './ledger.ts'
import { outsideVerdict } from './outside-verdict.ts'
import { INSTALLED, People } from './people.ts'
import { SmallDisk } from './small-disk.ts'
import { Supervised, startInnocent } from './supervised.ts'
import { Timers } from './timers.ts'
import { type Victim, victimsIn } from './victims.ts'

const PAGES = 10_000
/** Fewer open pages than this get as many more. */
const ENOUGH = 15
const ENOUGH_CAPTURED = 6
const SQL_MS = 5_000
/** The settings of all that is started. */
const ENV = { DATABASE_URL: '', ORACLE_SECONDS: '0.3', DISK_FLOOR: '10' }
const CAPTURED = { ...ENV, ...WITH_BROWSER, CHROME_SETTLE_TIMEOUT: '2' }

/** A data dir with its own server, a site to archive, runners that somebody keeps starting, and people who use it. */
export class World {
  readonly people: People
  readonly ledger = new Ledger()
  readonly log: string
  /** Where its programs have their temporary files. */
  readonly temp: string
  readonly env: Readonly<Record<string, string>>
  readonly #captures: boolean
  readonly #home: TestHome
  readonly #site: Site
  readonly #observer = new Observer()
  readonly #supervised: Supervised
  readonly #innocent = startInnocent()
  readonly #disk: SmallDisk
  readonly #pool: pg.Pool
  readonly #timers = new Timers()
  readonly #underWay = new Set<Promise<unknown>>()
  #supervisor: NodeJS.Timeout | undefined

  private constructor(home: TestHome, site: Site, env: World['env'], captures: boolean) {
    this.#home = home
    this.#site = site
    this.#captures = captures
    this.env = env
    this.temp = env['TMPDIR']!
    this.log = join(home.dataDir, 'soak.log')
    this.people = new People(home, this.ledger, site.url, captures ? CAPTURES.split(',') : [])
    this.#supervised = new Supervised(home, this.ledger, (text) => this.#note(text))
    this.#disk = new SmallDisk(join(home.dataDir, 'archive'), 1_000)
    const options = { max: 2, connectionTimeoutMillis: SQL_MS, query_timeout: SQL_MS, application_name: 'a hand' }
    this.#pool = new pg.Pool({ connectionString: home.databaseUrl, ...options })
    this.#pool.on('error', () => {})
  }

  static async make(urls: number, captures: boolean): Promise<World> {
    const dataDir = newFolder()
    const env = { ...(captures ? CAPTURED : ENV), TMPDIR: newFolder() }
    const before = new TestHome(dataDir, '', env)
    for (const args of [['init'], ['db', 'start']]) {
      const { code, stderr } = await before.run(args)
      if (code !== 0) throw new Error(stderr)
    }
    const home = new TestHome(dataDir, (await before.run(['db', 'url'])).stdout.trim(), env)
    home.install(...INSTALLED)
    const world = new World(home, await startSite(PAGES), env, captures)
    world.#observer.watch(home)
    for (let added = 0; added < urls; added += 25) await world.people.add(Math.min(25, urls - added))
    world.startRunner()
    // Whatever is killed, somebody starts a runner again, or two of which one stands by.
    let started = 0
    world.#supervisor = setInterval(() => {
      if (!world.#supervised.someoneIsThere) {
        started += 1
        world.startRunner(...(started % 2 === 0 ? ['--standby'] : []))
        if (started % 2 === 0) world.startRunner('--standby')
      }
      if (world.#underWay.size <= 3) world.beside(world.#feed())
    }, 1_000)
    return world
  }

  get dataDir(): string {
    return this.#home.dataDir
  }

  /** The pid of somebody who has nothing to do with it. */
  get innocentPid(): number {
    return this.#innocent.pid!
  }

  choose(victim: Victim, pick: number): number | undefined {
    const found = this.all(victim)
    return found[Math.floor(pick * found.length)]
  }

  all(victim: Victim): number[] {
    return victimsIn(this.dataDir, victim)
  }

  signal(pid: number, signal: NodeJS.Signals): void {
    if (pid <= 1) return
    try {
      process.kill(pid, signal)
    } catch {
      // Gone in between.
    }
  }

  stall(pid: number, ms: number): void {
    this.signal(pid, 'SIGSTOP')
    this.later(ms, () => isThere(pid) && this.signal(pid, 'SIGCONT'), `stall ${pid}`)
  }

  startRunner(...options: string[]): string {
    return `runner ${this.#supervised.start(...options)}`
  }

  startRunnerPid(): number {
    return this.#supervised.start()
  }

  after(ms: number, work: () => void): void {
    this.#timers.after(ms, work)
  }

  /** Undoes something after a while, and at the end at the latest; of two with one name only the second. */
  later(ms: number, undo: () => unknown, name: string | symbol = Symbol('undo')): void {
    this.#timers.later(ms, () => this.beside(Promise.resolve(undo())), name)
  }

  /** Goes on beside everything else; the end waits for it. */
  beside(work: Promise<unknown>): void {
    const done = work.catch((error: unknown) => this.#note(String(error))).finally(() => this.#underWay.delete(done))
    this.#underWay.add(done)
  }

  /** A statement of a hand: it fails where it is not answered soon. */
  async sql<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(text, [...values])).rows
  }

  /** A connection of one's own. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#home.databaseUrl,
      connectionTimeoutMillis: SQL_MS,
      query_timeout: SQL_MS,
    })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  /** What somebody did to the row of a process by hand is not the program's doing. */
  forgive(processId: string): void {
    this.#observer.forgive(this.#home, processId)
  }

  fillDisk(ms: number): string {
    if (!this.#disk.isThere) return 'may not mount a disk here'
    this.#disk.fill()
    this.later(ms, () => this.#disk.empty(), 'disk')
    return `for ${(ms / 1000).toFixed(1)} s`
  }

  /** No more faults: lets everything that stands still go on, ends the work with one more runner, and judges. */
  async end(say: (line: string) => void): Promise<Finding[]> {
    clearInterval(this.#supervisor)
    this.#timers.end()
    // `add --run` follows until its crawl is done; everything else ends soon.
    await this.#settled(60_000)
    const findings = await calmDown(this.#home, this.people, this.#supervised.runners, say)
    await this.#settled(30_000)
    const observed = await this.#observer.unwatch(this.#home)
    const innocent = isThere(this.innocentPid) ? [] : [`${this.innocentPid} was killed`]
    findings.push({
      name: 'whoever has nothing to do with it lives',
      how: 'a pid that was written into rows by hand',
      broken: innocent,
    })
    findings.push(...(await outsideVerdict(this.#home, this.ledger)))
    if (this.#captures) {
      for (const line of await captureCounts(this.#home)) say(line)
      findings.push(...(await capturesVerdict(this.#home, this.ledger, this.temp)))
    }
    return [...findings, ...(await verdict(this.#home, { urls: this.ledger.accepted, observed }))]
  }

  /** Nothing of it stays, whatever became of it; its folder may, for whoever looks into it. */
  async remove(keep: boolean): Promise<void> {
    clearInterval(this.#supervisor)
    this.#observer.close()
    this.#innocent.kill('SIGKILL')
    await this.#home.close()
    await this.#pool.end()
    await this.#home.run(['db', 'stop', '--force'], { env: { DATABASE_URL: '' } }).catch(() => {})
    await eventually(() => {
      const left = processesOf(this.dataDir)
      killAll(left)
      return left.length === 0
    }).catch(() => {})
    await this.#site.close()
    if (keep) return
    this.#disk.remove()
    for (const folder of [this.dataDir, this.temp]) rmSync(folder, { recursive: true, force: true })
  }

  /** Sees to it that there is always work that a fault may hit. */
  async #feed(): Promise<void> {
    const [open] = await this.sql<{ count: number }>(
      "select count(*)::int from snapshot where status <> 'sealed'",
    ).catch(() => [])
    const enough = this.#captures ? ENOUGH_CAPTURED : ENOUGH
    if (open && open.count < enough) await this.people.add(enough)
  }

  /** Waits for what goes on beside, but not for ever. */
  async #settled(ms: number): Promise<void> {
    await eventually(() => this.#underWay.size === 0, ms).catch(() => {})
  }

  #note(text: string): void {
    appendFileSync(this.log, `${new Date().toISOString()} ${text}\n`)
  }
}
