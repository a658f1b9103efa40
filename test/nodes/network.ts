import { execFileSync } from 'node:child_process'

export const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] })
const NUMBER = process.pid % 10_000
const SUBNET = `10.213.${process.pid % 250}`
const NOWHERE = '02:00:00:00:00:99'

/** A switch between machines, at which the way to the database and the site are, too. */
export class Network {
  readonly subnet = `${SUBNET}.0/24`
  /** Where the way to the database and the site listen. */
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

/** The network of one machine: a namespace with a plug in the switch. */
export class Plug {
  readonly space: string
  readonly address: string
  readonly #device: string

  /** @param number its address ends with it */
  constructor({ bridge }: Network, number: number) {
    this.space = `${bridge}n${number}`
    this.address = `${SUBNET}.${number}`
    this.#device = `${bridge}v${number}`
    ip('netns', 'add', this.space)
    ip('link', 'add', this.#device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.space)
    ip('link', 'set', this.#device, 'master', bridge, 'up')
    ip('-n', this.space, 'addr', 'add', `${this.address}/24`, 'dev', 'eth0')
    for (const device of ['lo', 'eth0']) ip('-n', this.space, 'link', 'set', device, 'up')
  }

  out(): void {
    ip('link', 'set', this.#device, 'down')
  }

  in(): void {
    ip('link', 'set', this.#device, 'up')
  }

  /** What it sends there goes nowhere, and nothing tells it so. */
  mislead(address: string): void {
    ip('-n', this.space, 'neigh', 'replace', address, 'lladdr', NOWHERE, 'dev', 'eth0', 'nud', 'permanent')
  }

  leadBack(address: string): void {
    ip('-n', this.space, 'neigh', 'del', address, 'dev', 'eth0')
  }

  close(): void {
    ip('netns', 'del', this.space)
  }
}
