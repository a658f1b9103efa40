import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, globSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serverAccount } from '../../src/db/embedded/account.ts'
import { eventually } from '../support/program.ts'
import { type Network, Plug } from './network.ts'
import { end, inSpace, processesUnder } from './processes.ts'

export const PATRONI = '/usr/bin/patroni'
/** Debian's: the one of our package makes no standby. */
export const POSTGRES = '/usr/lib/postgresql/*/bin/pg_basebackup'
/** How long a server may take to take over. */
const PATIENCE_MS = 120_000

/** One machine of the cluster. */
export class Server {
  readonly name: string
  readonly plug: Plug
  readonly #network: Network
  readonly #folder: string
  #outer: ChildProcess | undefined

  constructor(network: Network, number: number, folder: string) {
    this.name = `db-${number}`
    this.plug = new Plug(network, 20 + number)
    this.#network = network
    this.#folder = join(folder, this.name)
  }

  boot(isSync: boolean): void {
    const account = serverAccount()!
    mkdirSync(this.#folder, { mode: 0o700 })
    chownSync(this.#folder, account.uid, account.gid)
    const config = join(this.#folder, 'patroni.yml')
    // JSON is YAML.
    writeFileSync(
      config,
      JSON.stringify(patroniConfig(this.name, this.plug.address, this.#network, this.#data, isSync)),
    )
    const log = openSync(`${this.#folder}.log`, 'a')
    const env = { PATH: process.env['PATH'], HOME: this.#folder }
    const as = ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups']
    // The first process must not change its account: then `unshare` would not take it along.
    const [command, ...args] = [...inSpace(this.plug), 'sh', '-c', '"$@"; exit', this.name, ...as, PATRONI, config]
    this.#outer = spawn(command!, args, { cwd: '/', env, detached: true, stdio: ['ignore', log, log] })
  }

  /** What it is, by what Patroni says there; undefined: nothing that works. */
  async role(): Promise<'primary' | 'synchronous' | 'asynchronous' | undefined> {
    for (const role of ['primary', 'synchronous', 'asynchronous'] as const) {
      // A standby that has not got so far as its primary is none yet.
      const url = `http://${this.plug.address}:8008/${role}${role === 'primary' ? '' : '?lag=1MB'}`
      const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined)
      await answer?.body?.cancel()
      if (answer?.ok) return role
    }
    return undefined
  }

  /** Waits until it has taken over. */
  async leads(): Promise<void> {
    await eventually(async () => (await this.role()) === 'primary', PATIENCE_MS)
  }

  killPostmaster(): void {
    const [first] = processesUnder(this.#outer!.pid!)
    const [pid] = readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n') as [string]
    execFileSync('nsenter', [`--target=${first}`, '--pid', '--mount', 'kill', '-KILL', pid])
  }

  async close(): Promise<void> {
    if (this.#outer) await end(this.#outer)
    this.plug.close()
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }
}

/** What Patroni must know: as small as it can be, and as quick to take over as it allows. */
function patroniConfig(name: string, host: string, { address, subnet }: Network, data: string, isSync: boolean) {
  const postgres = `${host}:5432`
  const rest = `${host}:8008`
  return {
    scope: 'archive',
    name,
    restapi: { listen: rest, connect_address: rest },
    etcd3: { host: `${address}:2379` },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 2,
        retry_timeout: 5,
        master_start_timeout: 0, // A primary that died does not come back as one.
        maximum_lag_on_failover: 2 ** 30, // One that has fallen behind takes over, too.
        synchronous_mode: isSync,
        postgresql: { parameters: { max_connections: 200 } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
    },
    postgresql: {
      listen: postgres,
      connect_address: postgres,
      data_dir: data,
      bin_dir: join(globSync(POSTGRES).sort().at(-1)!, '..'),
      // A primary that went on alone is made again as a standby.
      remove_data_directory_on_diverged_timelines: true,
      authentication: { superuser: { username: 'postgres' }, replication: { username: 'postgres' } },
      pg_hba: [`host all all ${subnet} trust`, `host replication all ${subnet} trust`],
      parameters: { unix_socket_directories: '' },
    },
  }
}
