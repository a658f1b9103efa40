import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { newFolder, TestHome } from '../support/homes.ts'
import { Observer } from '../support/observer.ts'
import { isThere, killAll, processesOf } from '../support/processes.ts'
import { eventually } from '../support/program.ts'
import { type Site, startSite } from '../support/site.ts'
import { type Finding, verdict } from '../support/verdict.ts'
import { Ledger } from './ledger.ts'
import { outsideVerdict } from './outside-verdict.ts'
import { INSTALLED, People } from './people.ts'
import { SmallDisk } from './small-disk.ts'
import { Supervised, startInnocent } from './supervised.ts'
import { type Victim, victimsIn } from './victims.ts'

const PAGES = 10_000
/** Fewer open pages than this get as many more. */
const ENOUGH = 15
/** How long the work may take to end when nothing disturbs it any more: the lease, the longest backoff, and the work itself. */
const CALM_MS = 240_000
const SQL_MS = 5_000

/** A data dir with its own server, a site to archive, runners that somebody keeps starting, and people who use it. */
export class World {
  readonly people: People
  readonly ledger = new Ledger()
  readonly log: string
  readonly #home: TestHome
  readonly #site: Site
  readonly #observer = new Observer()
  readonly #supervised: Supervised
  readonly #innocent = startInnocent()
  readonly #disk: SmallDisk
  readonly #pool: pg.Pool
  readonly #timers = new Set<NodeJS.Timeout>()
  /** What is still to be undone, and when that is due at the latest: the end. */
  readonly #undoings = new Map<string | symbol, () => void>()
  readonly #underWay = new Set<Promise<unknown>>()
  #supervisor: NodeJS.Timeout | undefined

  private constructor(home: TestHome, site: Site) {
    this.#home = home
    this.#site = site
    this.log = join(home.dataDir, 'soak.log')
    this.people = new People(home, this.ledger, site.url)
    this.#supervised = new Supervised(home, this.ledger, (text) => this.#note(text))
    this.#disk = new SmallDisk(join(home.dataDir, 'archive'), 1_000)
    const options = { max: 2, connectionTimeoutMillis: SQL_MS, query_timeout: SQL_MS, application_name: 'a hand' }
    this.#pool = new pg.Pool({ connectionString: home.databaseUrl, ...options })
    this.#pool.on('error', () => {})
  }

  static async make(urls: number): Promise<World> {
    const dataDir = newFolder()
    const env = { DATABASE_URL: '', ORACLE_SECONDS: '0.3', DISK_FLOOR: '10' }
    const before = new TestHome(dataDir, '', env)
    for (const args of [['init'], ['db', 'start']]) {
      const { code, stderr } = await before.run(args)
      if (code !== 0) throw new Error(stderr)
    }
    const home = new TestHome(dataDir, (await before.run(['db', 'url'])).stdout.trim(), env)
    home.install(...INSTALLED)
    const world = new World(home, await startSite(PAGES))
    world.#observer.watch(home)
    for (let added = 0; added < urls; added += 25) await world.people.add(Math.min(25, urls - added))
    world.startRunner()
    // Whatever is killed, somebody starts a runner again.
    world.#supervisor = setInterval(() => {
      if (!world.#supervised.someoneIsThere) world.startRunner()
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

  /** Does something after a while, unless the faults have ended by then. */
  after(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      work()
    }, ms)
    this.#timers.add(timer)
  }

  /** Undoes something after a while, and at the end at the latest; of two with one name only the second. */
  later(ms: number, undo: () => unknown, name: string | symbol = Symbol('undo')): void {
    const once = () => {
      if (this.#undoings.get(name) !== once) return
      this.#undoings.delete(name)
      this.beside(Promise.resolve(undo()))
    }
    this.#undoings.set(name, once)
    setTimeout(once, ms).unref()
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
    const client = new pg.Client({ connectionString: this.#home.databaseUrl, connectionTimeoutMillis: SQL_MS, query_timeout: SQL_MS })
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
    for (const timer of this.#timers) clearTimeout(timer)
    for (const undo of this.#undoings.values()) undo()
    // `add --run` follows until its crawl is done; everything else ends soon.
    await Promise.race([Promise.allSettled([...this.#underWay]), new Promise((resolve) => setTimeout(resolve, 60_000).unref())])
    await this.insistOn(() => this.#must('db', 'start'))
    for (const model of ['crawl', 'snapshot']) {
      const { stdout } = await this.people.command(model, 'list', '--status', 'paused')
      if (stdout) await this.#home.run([model, 'resume', '-'], { env: { DATABASE_URL: '' }, input: stdout })
    }
    say(`no more faults; ${this.ledger.accepted.length} pages are accepted`)
    const findings: Finding[] = []
    const last = await this.#home.run(['run', '--exit-on-idle'], { env: { DATABASE_URL: '' }, deadlineMs: CALM_MS }).catch(String)
    const complaint = typeof last === 'string' ? last : last.code === 0 ? '' : `exit code ${last.code}\n${last.stderr}`
    const name = 'I16 I20: an undisturbed runner gets everything done'
    findings.push({ name, how: `run --exit-on-idle, within ${CALM_MS / 1000} s`, broken: complaint ? [complaint] : [] })
    // A runner that stood by leads now; others may still be on their way out.
    const { runners } = this.#supervised
    for (const runner of runners) if (!runner.isOver) runner.signal('SIGTERM')
    await eventually(() => runners.every((runner) => runner.isOver), 30_000).catch(() => {})
    const late = runners.filter((runner) => !runner.isOver).map(({ pid }) => `runner ${pid} is still there`)
    findings.push({ name: 'I22: runners leave when they are asked', how: 'SIGTERM to all, 30 s', broken: late })
    await Promise.race([Promise.allSettled([...this.#underWay]), new Promise((resolve) => setTimeout(resolve, 30_000).unref())])
    await this.insistOn(() => this.#must('db', 'start'))
    await eventually(() => this.all('watchdog').length === 0, 10_000).catch(() => {})
    const observed = await this.#observer.unwatch(this.#home)
    const innocent = isThere(this.innocentPid) ? [] : [`${this.innocentPid} was killed`]
    findings.push({ name: 'whoever has nothing to do with it lives', how: 'a pid that was written into rows by hand', broken: innocent })
    findings.push(...(await outsideVerdict(this.#home, this.ledger)))
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
    rmSync(this.dataDir, { recursive: true, force: true })
  }

  /** Sees to it that there is always work that a fault may hit. */
  async #feed(): Promise<void> {
    const [open] = await this.sql<{ count: number }>("select count(*)::int from snapshot where status <> 'sealed'").catch(() => [])
    if (open && open.count < ENOUGH) await this.people.add(ENOUGH)
  }

  /** Does what must work in the end, now that nothing disturbs it. */
  async insistOn(work: () => Promise<unknown>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return void (await work())
      } catch (error) {
        if (attempt === 10) throw error
        await new Promise((resolve) => setTimeout(resolve, 500))
      }
    }
  }

  async #must(...args: string[]): Promise<void> {
    const { code, stderr } = await this.people.command(...args)
    if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`)
  }

  #note(text: string): void {
    appendFileSync(this.log, `${new Date().toISOString()} ${text}\n`)
  }
}
