import { BlockList, isIP } from 'node:net'

// Loopback, private, link-local, carrier-grade and unique local addresses (the registries of RFC 6890).
const RANGES = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  ...['::/127', 'fc00::/7', 'fe80::/10'],
] as const
/** Names that are never registered for the public (RFC 6761, 6762, 8375, 9476). */
const LOCAL_NAMES = /(?:^|\.)(?:localhost|local|internal|home\.arpa|test)$/

let privates: BlockList | undefined

/** Is this address for a machine or a network of one's own? */
export function isPrivateAddress(address: string): boolean {
  if (!privates) {
    privates = new BlockList()
    for (const range of RANGES) {
      const [network, bits] = range.split('/') as [string, string]
      privates.addSubnet(network, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4')
    }
  }
  return privates.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

/**
 * Does the name of a host say whether it is private? Undefined: only its addresses tell.
 * @param hostname as in a URL: lower case, an IPv6 address in brackets
 */
export function isPrivateName(hostname: string): boolean | undefined {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(address)) return isPrivateAddress(address)
  const name = hostname.replace(/\.$/, '')
  return !name.includes('.') || LOCAL_NAMES.test(name) ? true : undefined
}
