import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, globSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../../src/base/abort.ts'
import { eventually } from '../support/program.ts'
import type { Network } from './network.ts'
import { end } from './processes.ts'
import { PATRONI, POSTGRES, Server } from './server.ts'

const NEEDED = { patroni: PATRONI, 'etcd-server': '/usr/bin/etcd', haproxy: '/usr/sbin/haproxy' }
/** How long a server may take to be there, or to be a standby again. */
const PATIENCE_MS = 120_000

/** The packages of Debian that are missing for a cluster. */
export function missingPackages(): string[] {
  const missing = Object.entries(NEEDED).flatMap(([name, file]) => (existsSync(file) ? [] : name))
  return globSync(POSTGRES).length > 0 ? missing : [...missing, 'postgresql']
}

/**
 * A PostgreSQL as people have it who want it available: two machines under Patroni, with etcd, and one address, that of
 * the network, where HAProxy leads to the primary.
 */
export class Cluster {
  readonly url: string
  readonly #network: Network
  readonly #folder: string
  readonly #isSync: boolean
  readonly #servers: readonly Server[]
  readonly #helpers: ChildProcess[] = []

  constructor(network: Network, folder: string, isSync: boolean) {
    this.url = `postgres://postgres@${network.address}:5432/postgres`
    this.#network = network
    this.#folder = folder
    this.#isSync = isSync
    this.#servers = [1, 2].map((number) => new Server(network, number, folder))
  }

  async start(): Promise<void> {
    const { address } = this.#network
    const [clients, peers] = [`http://${address}:2379`, `http://${address}:2380`]
    this.#help(NEEDED['etcd-server'], [
      ...['--data-dir', join(this.#folder, 'etcd'), '--initial-cluster', `default=${peers}`],
      ...['--listen-client-urls', clients, '--advertise-client-urls', clients],
      ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers],
    ])
    const proxy = join(this.#folder, 'haproxy.cfg')
    writeFileSync(proxy, proxyConfig(address, this.#servers))
    this.#help(NEEDED.haproxy, ['-db', '-f', proxy])
    for (const server of this.#servers) server.boot(this.#isSync)
    await this.isWhole()
  }

  /** Waits until there are a primary and a standby that has what that has. @returns which is which */
  isWhole(): Promise<readonly [Server, Server]> {
    return eventually(async () => {
      const roles = await Promise.all(this.#servers.map((server) => server.role()))
      const primary = this.#servers.find((_, at) => roles[at] === 'primary')
      const standby = this.#servers.find((_, at) => roles[at] === (this.#isSync ? 'synchronous' : 'asynchronous'))
      return primary && standby && ([primary, standby] as const)
    }, PATIENCE_MS)
  }

  /** Kills the postmaster of the primary, and waits until the other has taken over. */
  async killPrimary(): Promise<void> {
    const [primary, standby] = await this.isWhole()
    primary.killPostmaster()
    await standby.leads()
  }

  /**
   * Cuts the primary off, and waits until the other has taken over.
   * @param behindSeconds for so long before, nothing reaches the standby
   */
  async cutPrimaryOff(behindSeconds: number): Promise<void> {
    const [primary, standby] = await this.isWhole()
    primary.plug.mislead(standby.plug.address)
    await sleep(behindSeconds * 1_000)
    primary.plug.out()
    await standby.leads()
    primary.plug.leadBack(standby.plug.address)
    primary.plug.in()
  }

  async close(): Promise<void> {
    for (const server of this.#servers) await server.close()
    await Promise.all(this.#helpers.map(end))
  }

  #help(file: string, args: readonly string[]): void {
    const log = openSync(join(this.#folder, 'helpers.log'), 'a')
    this.#helpers.push(spawn(file, args, { stdio: ['ignore', log, log] }))
  }
}

function proxyConfig(address: string, servers: readonly Server[]): string {
  const lines = servers.map(({ name, plug }) => `  server ${name} ${plug.address}:5432 check port 8008\n`)
  return `defaults
  mode tcp
  timeout connect 3s
  timeout client 1h
  timeout server 1h
listen database
  bind ${address}:5432
  option httpchk OPTIONS /primary
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${lines.join('')}`
}
