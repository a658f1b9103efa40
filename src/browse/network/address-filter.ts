import { lookup as dnsLookup, type LookupAddress, type LookupAllOptions } from 'node:dns'
import { type BlockList, isIP, type LookupFunction } from 'node:net'
import { readSetting, type Texts } from '../../base/config.ts'
import { AppError } from '../../base/errors.ts'
import { blockList, isIn, isPrivateAddress, isPrivateName, METADATA_NAMES, machineServiceAt } from './private-host.ts'

/** As `dns.lookup` with `all`. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** Accessed lazily: the first use of Node's `dns` reads the files of the system's resolver. */
const resolveAll: Resolve = (...query) => dnsLookup(...query)

/**
 * Decides which hosts a crawl may connect to. Always refuses link-local addresses and metadata services of clouds: they
 * treat any request from this machine as the machine's own. With BLOCK_PRIVATE_ADDRESSES, refuses every private
 * address. Always allows exceptions.
 */
export class AddressFilter {
  /** Filters with the same id allow the same hosts. */
  readonly id: string
  /** The exceptions, as written: names, addresses, networks, some with a port. */
  readonly excepted: readonly string[]
  /** Whether it blocks all private addresses. */
  readonly isWide: boolean
  readonly #names: ReadonlySet<string>
  readonly #networks: BlockList
  readonly #resolve: Resolve

  private constructor(settings: Texts, resolve: Resolve) {
    this.excepted = readSetting('ALLOW_PRIVATE_HOSTS', settings).map((entry) => entry.toLowerCase())
    this.isWide = readSetting('BLOCK_PRIVATE_ADDRESSES', settings)
    this.id = `${this.isWide} ${this.excepted.join()}`
    this.#networks = blockList(this.excepted.filter(isNetwork))
    this.#names = new Set(this.excepted.filter((entry) => !isNetwork(entry)))
    this.#resolve = resolve
  }

  /** Makes the filter for these settings. */
  static from(settings: Texts, resolve: Resolve = resolveAll): AddressFilter {
    return new AddressFilter(settings, resolve)
  }

  /** The same filter if it blocks all private addresses; else undefined. */
  static ofPrivate(settings: Texts, resolve?: Resolve): AddressFilter | undefined {
    const filter = AddressFilter.from(settings, resolve)
    return filter.isWide ? filter : undefined
  }

  /**
   * Why a connection to a host is refused, in one line, by its name or address alone; undefined: it is not.
   * @param hostname as in a URL
   */
  refusal(hostname: string, port: number): string | undefined {
    const host = bare(hostname)
    if (this.#isExcepted(host, port)) return undefined
    if (this.isWide && isPrivateName(hostname.toLowerCase()) === true)
      return blocked(`${host} is ${isIP(host) ? 'a private address' : 'the name of a private host'}`)
    const service = isIP(host) ? machineServiceAt(host) : METADATA_NAMES.includes(host) && 'name of a metadata service'
    return service ? refused(`${host} is ${articled(service)}`) : undefined
  }

  /** The same for a URL. */
  refusalOf(url: string | URL): string | undefined {
    const { hostname, port } = placeOf(url)
    return this.refusal(hostname, port)
  }

  /**
   * For clients that choose the address themselves: throws AppError when a host is refused by its name or by any of its
   * addresses. A host that is not found is no error here: the client will notice.
   */
  async check(hostname: string, port: number): Promise<void> {
    const host = bare(hostname)
    const refusal = this.refusal(hostname, port)
    if (refusal !== undefined) throw new AppError(refusal)
    if (isIP(host) > 0 || this.#isExcepted(host, port)) return
    const { promise, resolve } = Promise.withResolvers<readonly LookupAddress[]>()
    this.#resolve(host, { all: true }, (error, found) => resolve(error ? [] : found))
    for (const { address } of await promise) {
      const why = this.#against(host, address)
      if (why !== undefined) throw new AppError(why)
    }
  }

  /** The same for the host of a URL. */
  async checkUrl(url: string): Promise<void> {
    const { hostname, port } = placeOf(url)
    await this.check(hostname, port)
  }

  /** Why an answer from this address is rejected, in one line; undefined: it is not. @param url the requested URL */
  refusalOfAnswer(url: string, address: string): string | undefined {
    const { hostname, port } = placeOf(url)
    const plain = bare(address)
    return isIP(plain) > 0 && !this.#isExcepted(bare(hostname), port) ? this.#against(bare(hostname), plain) : undefined
  }

  /**
   * The `lookup` for a connection to a host whose name is not refused: it yields only the allowed addresses, and the
   * connection uses one of these. Fails with an AppError when there is none.
   */
  lookup(port: number): LookupFunction {
    return (hostname, options, done) =>
      this.#resolve(hostname, { ...options, all: true }, (error, found) => {
        const isExcepted = this.#isExcepted(bare(hostname), port)
        const why = ({ address }: LookupAddress) => (isExcepted ? undefined : this.#against(hostname, address))
        const open = error ? [] : found.filter((each) => why(each) === undefined)
        const trouble = error ?? new AppError((found[0] && why(found[0])) ?? `${hostname} has no address`)
        if (open.length === 0) done(trouble, '')
        else if (options.all) done(null, open)
        else done(null, open[0]!.address, open[0]!.family)
      })
  }

  /** Why a host must not be reached at this address. */
  #against(host: string, address: string): string | undefined {
    if (isIn(this.#networks, address)) return undefined
    if (this.isWide && isPrivateAddress(address)) return blocked(`${host} leads to the private address ${address}`)
    const service = machineServiceAt(address)
    if (service === undefined) return undefined
    return refused(host === address ? `${host} is ${articled(service)}` : `${host} leads to the ${service} ${address}`)
  }

  #isExcepted(host: string, port: number): boolean {
    const isAddress = isIP(host) > 0
    const withPort = isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
    return this.#names.has(host) || this.#names.has(withPort) || (isAddress && isIn(this.#networks, host))
  }
}

/** Whether it is an address, or a network such as `10.1.0.0/16`. */
function isNetwork(entry: string): boolean {
  const [address = '', bits = '0'] = entry.split('/')
  return isIP(address) > 0 && /^\d+$/.test(bits) && Number(bits) <= (isIP(address) === 6 ? 128 : 32)
}

const bare = (hostname: string) =>
  hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
const articled = (what: string) => `${what.startsWith('link') ? 'a' : 'the'} ${what}`
const blocked = (what: string) => `${what} (BLOCK_PRIVATE_ADDRESSES)`
const refused = (what: string) => `refused: ${what} (ALLOW_PRIVATE_HOSTS opens it)`

function placeOf(url: string | URL): { readonly hostname: string; readonly port: number } {
  const { hostname, port, protocol } = new URL(url)
  return { hostname, port: Number(port) || (/^(?:https|wss):$/.test(protocol) ? 443 : 80) }
}
