import { execFileSync } from 'node:child_process'
import { appendFileSync, chownSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serverAccount } from '../../src/db/embedded/account.ts'
import { findBinaries } from '../../src/db/embedded/binaries.ts'
import { runProgram } from '../../src/db/embedded/run.ts'
import { TestHome } from '../support/homes.ts'
import { type Finished, type Running, start } from '../support/program.ts'

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] })
const NUMBER = process.pid % 10_000
const SUBNET = `10.213.${process.pid % 250}`
const NOWHERE = '02:00:00:00:00:99'

/** A switch between machines, at which the database and the site are, too. */
export class Network {
  /** Where the database and the site listen. */
  readonly address = `${SUBNET}.1`
  readonly bridge = `abx${NUMBER}`

  constructor() {
    ip('link', 'add', this.bridge, 'type', 'bridge')
    ip('addr', 'add', `${this.address}/24`, 'dev', this.bridge)
    ip('link', 'set', this.bridge, 'up')
  }

  close(): void {
    ip('link', 'del', this.bridge)
  }
}

/** A PostgreSQL on the network. @returns its URL, and what ends it */
export async function startPostgres(folder: string, host: string) {
  const account = serverAccount()
  const { initdb, pgCtl } = findBinaries(account)
  const data = join(folder, 'postgres')
  if (account) chownSync(folder, account.uid, account.gid)
  const run = async (file: string, ...args: string[]) => {
    const { code, output } = await runProgram(file, args, account, 'ignore')
    if (code !== 0) throw new Error(`${file} ended with exit code ${code}: ${output}`)
  }
  await run(initdb, '-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C')
  appendFileSync(join(data, 'pg_hba.conf'), `host all all ${SUBNET}.0/24 trust\n`)
  const settings = [`listen_addresses=${host}`, "unix_socket_directories=''", 'max_connections=200']
  const options = ['-p 5432', ...settings.map((setting) => `-c ${setting}`)].join(' ')
  await run(pgCtl, 'start', '--wait', '-D', data, '-l', join(folder, 'postgres.log'), '-o', options)
  const stop = () => run(pgCtl, 'stop', '--wait', '-m', 'fast', '-D', data)
  return { url: `postgres://postgres@${host}:5432/postgres`, stop }
}

/** A machine with a network, processes, a host name, a machine id and a data dir of its own. */
export class Machine {
  readonly name: string
  readonly home: TestHome
  readonly #space: string
  readonly #plug: string
  readonly #database: string
  readonly #idFile: string
  readonly #env: Readonly<Record<string, string>>
  #runner: Running | undefined
  /** When it was thawed, by the wall clock. */
  readonly thawedAt: number[] = []

  constructor(network: Network, number: number, folder: string, url: string, env: Readonly<Record<string, string>>) {
    this.name = `node-${number}`
    this.#space = `${network.bridge}n${number}`
    this.#plug = `${network.bridge}v${number}`
    this.#database = network.address
    this.#env = env
    const dataDir = join(folder, this.name)
    mkdirSync(dataDir)
    this.home = new TestHome(dataDir, url, {})
    this.#idFile = join(folder, `${this.name}.machine-id`)
    writeFileSync(this.#idFile, `${String(number).repeat(32)}\n`)
    ip('netns', 'add', this.#space)
    ip('link', 'add', this.#plug, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#space)
    ip('link', 'set', this.#plug, 'master', network.bridge, 'up')
    ip('-n', this.#space, 'addr', 'add', `${SUBNET}.${10 + number}/24`, 'dev', 'eth0')
    for (const device of ['lo', 'eth0']) ip('-n', this.#space, 'link', 'set', device, 'up')
  }

  boot(): void {
    this.#runner = this.#start(['run'])
  }

  /** All processes end at once, as by a power cut. */
  async crash(): Promise<void> {
    this.#runner?.signal('SIGKILL') // `unshare` takes its namespace along.
    await this.#runner?.finished()
    this.#runner = undefined
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

  /** Takes the plug out. */
  unplug(): void {
    ip('link', 'set', this.#plug, 'down')
  }

  plugIn(): void {
    ip('link', 'set', this.#plug, 'up')
  }

  /** What it sends to the database goes nowhere, and nothing tells it so. */
  mislead(): void {
    ip('-n', this.#space, 'neigh', 'replace', this.#database, 'lladdr', NOWHERE, 'dev', 'eth0', 'nud', 'permanent')
  }

  leadBack(): void {
    ip('-n', this.#space, 'neigh', 'del', this.#database, 'dev', 'eth0')
  }

  async close(): Promise<void> {
    this.thaw()
    await this.crash()
    await this.home.close()
    ip('netns', 'del', this.#space)
  }

  #start(args: readonly string[]): Running {
    const become = `hostname ${this.name}; [ ! -e /etc/machine-id ] || mount --bind ${this.#idFile} /etc/machine-id`
    const namespaces = ['unshare', '--mount', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc']
    const under = ['ip', 'netns', 'exec', this.#space, ...namespaces, 'sh', '-c', `${become}; exec "$@"`, this.name]
    const env = { ...this.#env, DATA_DIR: this.home.dataDir, DATABASE_URL: this.home.databaseUrl }
    return start(args, { under, env })
  }

  /** Those in the namespace of the runner, the runner first. */
  #processes(): number[] {
    const outer = this.#runner?.isOver === false ? this.#runner.pid : undefined
    const first = outer === undefined ? '' : children(outer)[0]
    if (!first) return []
    const space = spaceOf(first)
    return readdirSync('/proc').flatMap((pid) => (/^\d/.test(pid) && spaceOf(pid) === space ? Number(pid) : []))
  }
}

function children(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  } catch {
    return []
  }
}

/** The namespace of processes that a process lives in; undefined when it has gone. */
function spaceOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return undefined
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has gone meanwhile.
  }
}
