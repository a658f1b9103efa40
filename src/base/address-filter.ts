import { lookup as dnsLookup, type LookupAddress, type LookupAllOptions } from 'node:dns'
import { type BlockList, isIP, type LookupFunction } from 'node:net'
import { readSetting, type Texts } from './config.ts'
import { AppError } from './errors.ts'
import { blockList, isIn, isPrivateAddress, isPrivateName } from './private-host.ts'

/** As `dns.lookup` with `all`. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** Named when it is called: the first look at Node's `dns` reads the files of the system's resolver. */
const resolveAll: Resolve = (...query) => dnsLookup(...query)

/** Decides to which hosts a crawl may connect: none of one's own network, but for those that are excepted. */
export class AddressFilter {
  /** Of two filters with the same one, each lets through what the other does. */
  readonly id: string
  readonly #names: ReadonlySet<string>
  readonly #networks: BlockList
  readonly #resolve: Resolve

  private constructor(excepted: readonly string[], resolve: Resolve) {
    this.id = excepted.join()
    this.#networks = blockList(excepted.filter(isNetwork))
    this.#names = new Set(excepted.filter((entry) => !isNetwork(entry)).map((entry) => entry.toLowerCase()))
    this.#resolve = resolve
  }

  /** The filter that settings ask for; undefined: none. */
  static from(settings: Texts, resolve: Resolve = resolveAll): AddressFilter | undefined {
    if (!readSetting('BLOCK_PRIVATE_ADDRESSES', settings)) return undefined
    return new AddressFilter(readSetting('ALLOW_PRIVATE_HOSTS', settings), resolve)
  }

  /**
   * Why nothing connects to a host, in one line, as far as its name or address says so; undefined: it does not.
   * @param hostname as in a URL
   */
  refusal(hostname: string, port: number): string | undefined {
    const host = bare(hostname)
    if (this.#isExcepted(host, port) || isPrivateName(hostname.toLowerCase()) !== true) return undefined
    return refused(`${host} is ${isIP(host) ? 'a private address' : 'the name of a private host'}`)
  }

  /** The same for a URL. */
  refusalOf(url: string | URL): string | undefined {
    const { hostname, port, protocol } = new URL(url)
    return this.refusal(hostname, Number(port) || (protocol === 'https:' ? 443 : 80))
  }

  /**
   * The `lookup` of a connection to a host whose name is not refused: it yields the addresses that are not, and it is
   * one of these that is connected to. Fails with an AppError when there is none.
   */
  lookup(port: number): LookupFunction {
    return (hostname, options, done) =>
      this.#resolve(hostname, { ...options, all: true }, (error, found) => {
        const isOpen = ({ address }: LookupAddress) =>
          !isPrivateAddress(address) || isIn(this.#networks, address) || this.#isExcepted(bare(hostname), port)
        const open = error ? [] : found.filter(isOpen)
        const trouble =
          error ?? new AppError(refused(`${hostname} leads to the private address ${found[0]?.address ?? ''}`))
        if (open.length === 0) done(trouble, '')
        else if (options.all) done(null, open)
        else done(null, open[0]!.address, open[0]!.family)
      })
  }

  #isExcepted(host: string, port: number): boolean {
    const isAddress = isIP(host) > 0
    const withPort = isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
    return this.#names.has(host) || this.#names.has(withPort) || (isAddress && isIn(this.#networks, host))
  }
}

/** An address, or a network such as `10.1.0.0/16`. */
function isNetwork(entry: string): boolean {
  const [address = '', bits = '0'] = entry.split('/')
  return isIP(address) > 0 && /^\d+$/.test(bits) && Number(bits) <= (isIP(address) === 6 ? 128 : 32)
}

const bare = (hostname: string) =>
  hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
const refused = (what: string) => `${what} (BLOCK_PRIVATE_ADDRESSES)`
