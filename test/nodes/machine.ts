import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataDirId } from '../../src/base/data-dir-id.ts'
import { TestHome } from '../support/homes.ts'
import { type Finished, type Running, start } from '../support/program.ts'
import { type Network, Plug } from './network.ts'
import { inSpace, processesUnder } from './processes.ts'

/** A machine with a network, processes, a host name, a machine id and a data dir of its own. */
export class Machine {
  readonly name: string
  readonly home: TestHome
  readonly plug: Plug
  readonly #idFile: string
  readonly #env: Readonly<Record<string, string>>
  #runner: Running | undefined
  /** When it was thawed, by the wall clock. */
  readonly thawedAt: number[] = []

  constructor(network: Network, number: number, folder: string, url: string, env: Readonly<Record<string, string>>) {
    this.name = `node-${number}`
    this.plug = new Plug(network, 10 + number)
    this.#env = env
    this.home = new TestHome(join(folder, this.name), url, {})
    mkdirSync(this.home.dataDir)
    this.#idFile = join(folder, `${this.name}.machine-id`)
    writeFileSync(this.#idFile, `${String(number).repeat(32)}\n`)
  }

  /** The id of its data dir. */
  id(): Promise<string> {
    return dataDirId(this.home.dataDir, () => {})
  }

  boot(): void {
    this.#runner = this.#start(['run'])
  }

  /** Runs a command there to its end. */
  run(...args: string[]): Promise<Finished> {
    return this.#start(args).finished()
  }

  /** All processes end at once, as by a power cut. */
  async crash(): Promise<void> {
    this.#runner?.signal('SIGKILL') // `unshare` takes its namespace along.
    await this.#runner?.finished()
    this.#runner = undefined
  }

  /** Its power and its disk are gone; another machine, empty, gets its place and its name. */
  async loseForGood(): Promise<void> {
    await this.crash()
    rmSync(this.home.dataDir, { recursive: true })
    mkdirSync(this.home.dataDir)
    writeFileSync(this.#idFile, `${'abcdef'.repeat(6).slice(0, 32)}\n`)
  }

  /** Asks the runner to end. @returns how it ended */
  async shutDown(): Promise<Finished | undefined> {
    const [inner] = this.#processes()
    if (!this.#runner || inner === undefined) return undefined
    process.kill(inner, 'SIGTERM')
    return await this.#runner.finished(120_000)
  }

  /** Whether its runner goes on. */
  get isUp(): boolean {
    return this.#runner !== undefined && !this.#runner.isOver
  }

  get said(): string {
    return this.#runner?.stderr ?? ''
  }

  freeze(): void {
    for (const pid of this.#processes()) signal(pid, 'SIGSTOP')
  }

  thaw(): void {
    this.thawedAt.push(Date.now())
    for (const pid of this.#processes()) signal(pid, 'SIGCONT')
  }

  async close(): Promise<void> {
    this.thaw()
    await this.crash()
    await this.home.close()
    this.plug.close()
  }

  #start(args: readonly string[]): Running {
    const become = `hostname ${this.name}; [ ! -e /etc/machine-id ] || mount --bind ${this.#idFile} /etc/machine-id`
    const under = [...inSpace(this.plug), 'sh', '-c', `${become}; exec "$@"`, this.name]
    const env = { ...this.#env, DATA_DIR: this.home.dataDir, DATABASE_URL: this.home.databaseUrl }
    return start(args, { under, env })
  }

  /** Those in the namespace of the runner, the runner first. */
  #processes(): number[] {
    return this.#runner?.isOver === false ? processesUnder(this.#runner.pid) : []
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has gone meanwhile.
  }
}
