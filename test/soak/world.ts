import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder, TestHome } from '../support/homes.ts'
import { Observer } from '../support/observer.ts'
import { isThere, killAll, processesOf, type Seen } from '../support/processes.ts'
import { eventually, type Finished, type Running } from '../support/program.ts'
import { type Site, startSite } from '../support/site.ts'
import { type Finding, verdict } from '../support/verdict.ts'
import type { Victim } from './faults.ts'

const PLUGINS = 'headers,html,title,exit_1,stages,oracle,hashes'
const PAGES = 10_000
/** Fewer open pages than this get as many more. */
const ENOUGH = 15
/** How long the work may take to end when nothing disturbs it any more: the lease, the longest backoff, and the work itself. */
const CALM_MS = 240_000

/** A data dir with its own server, a site to archive, and runners that somebody keeps starting, as a supervisor would. */
export class World {
  readonly #home: TestHome
  readonly #site: Site
  readonly #observer = new Observer()
  readonly #runners: Running[] = []
  readonly #stalled = new Map<number, NodeJS.Timeout>()
  readonly #paused = new Map<string, NodeJS.Timeout>()
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #crawls: string[] = []
  /** The URLs that `add` said it had accepted. */
  readonly accepted: string[] = []
  readonly log: string
  #next = 1
  #supervisor: NodeJS.Timeout | undefined

  private constructor(home: TestHome, site: Site) {
    this.#home = home
    this.#site = site
    this.log = join(home.dataDir, 'soak.log')
  }

  static async make(urls: number): Promise<World> {
    const dataDir = newFolder()
    const env = { DATABASE_URL: '', ORACLE_SECONDS: '0.3' }
    const made = await new TestHome(dataDir, '', env).run(['init'])
    if (made.code !== 0) throw new Error(made.stderr)
    const started = await new TestHome(dataDir, '', env).run(['db', 'start'])
    if (started.code !== 0) throw new Error(started.stderr)
    const url = (await new TestHome(dataDir, '', env).run(['db', 'url'])).stdout.trim()
    const home = new TestHome(dataDir, url, env)
    home.install('exit_1', 'oracle', 'stages')
    const world = new World(home, await startSite(PAGES))
    world.#observer.watch(home)
    for (let added = 0; added < urls; added += 25) await world.#add(Math.min(25, urls - added))
    world.startRunner()
    // Whatever is killed, somebody starts a runner again.
    world.#supervisor = setInterval(() => {
      if (!world.#runners.some((runner) => !runner.isOver)) world.startRunner()
      world.#beside(world.#feed())
    }, 1_000)
    return world
  }

  get dataDir(): string {
    return this.#home.dataDir
  }

  /** The pid of a process of this kind, or undefined. */
  choose(victim: Victim, pick: number): number | undefined {
    const found = processesOf(this.dataDir)
      .filter((seen) => isA(victim, seen))
      .map(({ pid }) => pid)
    // From outside, the leader is whoever has workers; an idle one is the newest.
    if (victim === 'leader')
      return processesOf(this.dataDir).find((seen) => isA('crawl worker', seen) && found.includes(seen.ppid))?.ppid ?? found.at(-1)
    return found[Math.floor(pick * found.length)]
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
    clearTimeout(this.#stalled.get(pid))
    this.#stalled.set(
      pid,
      setTimeout(() => this.#goOn(pid), ms),
    )
  }

  startRunner(...options: string[]): string {
    const runner = this.#home.start(['run', ...options], { env: { DATABASE_URL: '' } })
    this.#runners.push(runner)
    runner
      .finished(2 ** 31 - 1)
      .then((end) => this.#note(`runner ${runner.pid} left: ${end.signal ?? end.code}\n${end.stderr}`))
      .catch(() => {})
    return `runner ${runner.pid}`
  }

  /** Adds pages, beside everything else. */
  add(count: number): string {
    this.#beside(this.#add(count))
    return `${count} pages`
  }

  pauseCrawl(pick: number, ms: number): string {
    const crawl = this.#crawls[Math.floor(pick * this.#crawls.length)]
    if (crawl === undefined) return 'no crawl is there'
    this.#beside(this.#command('crawl', 'pause', crawl))
    const resume = () => this.#beside(this.#command('crawl', 'resume', crawl))
    clearTimeout(this.#paused.get(crawl))
    this.#paused.set(crawl, setTimeout(resume, ms))
    return `${crawl} for ${(ms / 1000).toFixed(1)} s`
  }

  /** No more faults: lets everything that stands still go on, ends the work with one more runner, and judges. */
  async end(say: (line: string) => void): Promise<Finding[]> {
    clearInterval(this.#supervisor)
    for (const pid of [...this.#stalled.keys()]) this.#goOn(pid)
    for (const timer of this.#paused.values()) clearTimeout(timer)
    await Promise.allSettled([...this.#underWay])
    await this.#insist('db', 'start')
    const paused = await this.#home.query<{ id: string }>("select id from crawl where status = 'paused'")
    for (const { id } of paused) await this.#insist('crawl', 'resume', id)
    say(`no more faults; ${this.accepted.length} pages are accepted`)
    const last = await this.#home.run(['run', '--exit-on-idle'], { env: { DATABASE_URL: '' }, deadlineMs: CALM_MS }).catch(String)
    const findings: Finding[] = []
    if (typeof last === 'string' || last.code !== 0) {
      const broken = [typeof last === 'string' ? last : `exit code ${last.code}\n${last.stderr}`]
      findings.push({
        name: 'I16 I20: an undisturbed runner gets everything done',
        how: `run --exit-on-idle, within ${CALM_MS / 1000} s`,
        broken,
      })
    }
    // A runner that stood by leads now; others may still be on their way out.
    for (const runner of this.#runners) if (!runner.isOver) runner.signal('SIGTERM')
    await eventually(() => this.#runners.every((runner) => runner.isOver), 30_000).catch(() => {})
    const late = this.#runners.filter((runner) => !runner.isOver).map(({ pid }) => `runner ${pid} is still there`)
    findings.push({ name: 'I22: runners leave when they are asked', how: 'SIGTERM to all, 30 s', broken: late })
    await this.#insist('db', 'start')
    await eventually(() => !processesOf(this.dataDir).some((seen) => isA('watchdog', seen)), 10_000).catch(() => {})
    const observed = await this.#observer.unwatch(this.#home)
    return [...findings, ...(await verdict(this.#home, { urls: this.accepted, observed }))]
  }

  /** Nothing of it stays, whatever became of it; its folder may, for whoever looks into it. */
  async remove(keep: boolean): Promise<void> {
    clearInterval(this.#supervisor)
    this.#observer.close()
    await this.#home.close()
    await this.#command('db', 'stop', '--force').catch(() => {})
    await eventually(() => {
      const left = processesOf(this.dataDir)
      killAll(left)
      return left.length === 0
    }).catch(() => {})
    await this.#site.close()
    if (!keep) rmSync(this.dataDir, { recursive: true, force: true })
  }

  async #add(count: number): Promise<void> {
    const first = this.#next
    this.#next += count
    const urls = Array.from({ length: count }, (_, index) => `${this.#site.url}/page-${first + index}.html`)
    const { code, stdout } = await this.#command('add', '--plugins', PLUGINS, ...urls)
    if (code !== 0) return // Not accepted: its own exit code says so.
    this.#crawls.push((JSON.parse(stdout) as { id: string }).id)
    this.accepted.push(...urls)
  }

  /** Sees to it that there is always work that a fault may hit. */
  async #feed(): Promise<void> {
    if (this.#underWay.size > 3) return
    const [open] = await this.#home.query<{ count: number }>("select count(*)::int from snapshot where status <> 'sealed'").catch(() => [])
    if (open && open.count < ENOUGH) await this.#add(ENOUGH)
  }

  async #command(...args: string[]): Promise<Finished> {
    return await this.#home.run(args, { env: { DATABASE_URL: '' } })
  }

  /** A command that must work, now that nothing disturbs it. */
  async #insist(...args: string[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const { code, stderr } = await this.#command(...args)
      if (code === 0) return
      if (attempt === 5) throw new Error(`${args.join(' ')}: ${stderr}`)
    }
  }

  #beside(work: Promise<unknown>): void {
    const done = work.catch((error: unknown) => this.#note(String(error))).finally(() => this.#underWay.delete(done))
    this.#underWay.add(done)
  }

  #goOn(pid: number): void {
    clearTimeout(this.#stalled.get(pid))
    this.#stalled.delete(pid)
    if (isThere(pid)) this.signal(pid, 'SIGCONT')
  }

  #note(text: string): void {
    appendFileSync(this.log, `${new Date().toISOString()} ${text}\n`)
  }
}

function isA(victim: Victim, { command, environ }: Seen): boolean {
  const is: Record<Victim, boolean> = {
    leader: / run( |$)/.test(command) && command.includes('main.js') && !command.includes('--standby'),
    runner: / run( |$)/.test(command) && command.includes('main.js'),
    'crawl worker': command.endsWith('worker crawl'),
    'snapshot worker': command.endsWith('worker snapshot'),
    'hook host': command.includes('hook-host'),
    hook: environ.some((line) => line.startsWith('EXTRA_CONTEXT=')) && !command.includes('hook-host'),
    watchdog: command.includes('archivebox-ts-watchdog') || command.includes('watchdog.js'),
    postmaster: /\/postgres -D|postgres .*-D /.test(command) || /bin\/postgres/.test(command),
    backend: /^postgres: .*(archivebox|idle|SELECT|UPDATE|INSERT)/.test(command) && !command.includes('observer'),
  }
  return is[victim]
}
