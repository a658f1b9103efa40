import { BlockList, isIP } from 'node:net'

// Loopback, private, link-local, carrier-grade, unique local and multicast addresses, and the transitions from IPv6 to
// IPv4 that lead anywhere (the registries of RFC 6890).
const RANGES = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4'],
  ...['::/96', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8', '64:ff9b:1::/48', '2001::/32', '2002::/16'],
] as const
/**
 * IPv6 addresses, as 32 digits, that contain an IPv4 address: mapped ones and NAT64 (RFC 4291, 6052, 8215) at the end;
 * 6to4 (RFC 3056) after its prefix.
 */
const EMBEDDED =
  /^(?:(?:0{24}|0{20}f{4}|0{16}f{4}0{4}|0064ff9b0{16}|0064ff9b0001.{12})(?<last>.{8})|2002(?<first>.{8}).{20})$/
/** Teredo (RFC 4380) has it at the end with all bits inverted. */
const TEREDO = /^20010{4}.{16}(.{8})$/
/** Names that are never publicly registered (RFC 6761, 6762, 8375, 9476). */
const LOCAL_NAMES = /(?:^|\.)(?:localhost|local|internal|home\.arpa|test)$/

/** Link-local addresses (RFC 3927, RFC 4291), where clouds serve their machines. */
const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10']
/** Other addresses where clouds serve their machines: Alibaba, Oracle, Azure; Amazon and Google over IPv6. */
const METADATA = ['100.100.100.200', '192.0.0.192', '168.63.129.16', 'fd00:ec2::/32', 'fd20:ce::254']
/** Names of these services. */
export const METADATA_NAMES: readonly string[] = [
  ...['metadata', 'metadata.google.internal', 'metadata.goog', 'instance-data', 'instance-data.ec2.internal'],
  ...['metadata.tencentyun.com', 'metadata.packet.net', 'metadata.platformequinix.com'],
]

let privates: BlockList | undefined
let linkLocal: BlockList | undefined
let metadata: BlockList | undefined

/** Whether this address belongs to a private machine or network. */
export function isPrivateAddress(address: string): boolean {
  privates ??= blockList(RANGES)
  return isIn(privates, address)
}

/** Names the service at an address that no public page has; undefined: there is none. */
export function machineServiceAt(address: string): string | undefined {
  linkLocal ??= blockList(LINK_LOCAL)
  if (isIn(linkLocal, address)) return 'link-local address'
  metadata ??= blockList(METADATA)
  return isIn(metadata, address) ? 'address of a metadata service' : undefined
}

/** Makes a block list of addresses and networks (`10.1.0.0/16`). */
export function blockList(ranges: readonly string[]): BlockList {
  const all = new BlockList()
  for (const range of ranges) {
    const [network = '', bits] = range.split('/')
    const family = familyOf(network)
    if (bits === undefined) all.addAddress(network, family)
    else all.addSubnet(network, Number(bits), family)
  }
  return all
}

/** Whether a list contains an address, or the IPv4 address that it stands for. */
export function isIn(list: BlockList, address: string): boolean {
  const [plain = ''] = address.split('%') // Without its interface.
  if (list.check(plain, familyOf(plain))) return true
  const inside = isIP(plain) === 6 ? embeddedIn(plain) : undefined
  return inside !== undefined && list.check(inside, 'ipv4')
}

/** The IPv4 address that an IPv6 address stands for. */
function embeddedIn(address: string): string | undefined {
  const digits = digitsOf(address)
  const { last, first } = EMBEDDED.exec(digits)?.groups ?? {}
  const [, inverted] = TEREDO.exec(digits) ?? []
  const found = last ?? first ?? inverted
  if (found === undefined) return undefined
  const mask = inverted === undefined ? 0 : 255
  return [0, 2, 4, 6].map((at) => Number.parseInt(found.slice(at, at + 2), 16) ^ mask).join('.')
}

/** All 32 digits of an IPv6 address, however it is written. */
function digitsOf(address: string): string {
  const shortest = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = [], tail = []] = shortest.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...tail].map((group) => group.padStart(4, '0')).join('')
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/**
 * Whether a host is private, judged by its name. Undefined: only its addresses tell.
 * @param hostname as in a URL: lower case, an IPv6 address in brackets
 */
export function isPrivateName(hostname: string): boolean | undefined {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(address)) return isPrivateAddress(address)
  const name = hostname.replace(/\.$/, '')
  return !name.includes('.') || LOCAL_NAMES.test(name) ? true : undefined
}
