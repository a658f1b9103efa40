import { isIP } from 'node:net'
import type { AddressFilter } from '../network/address-filter.ts'
import { METADATA_NAMES } from '../network/private-host.ts'

/** How an IPv6 address ends that stands for an IPv4 address; with Teredo, all bits are inverted. */
const LOWS = ['a9fe:*', '6464:64c8', 'c000:c0', 'a83f:8110']
const INVERTED = ['5601:????', '9b9b:9b37', '3fff:ff3f', '57c0:7eef']
/** The addresses that `machineServiceAt` knows, as Chromium writes them (`?` is one character, or none). */
const ADDRESSES = [
  ...['169.254.*', 'fe8?:*', 'fe9?:*', 'fea?:*', 'feb?:*', 'fd00:ec2:*', 'fd20:ce::254'],
  ...['100.100.100.200', '192.0.0.192', '168.63.129.16'],
  ...['::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1:*'].flatMap((start) => LOWS.map((low) => start + low)),
  ...LOWS.map((low) => `2002:${low}:*`),
  ...['2001::*', '2001:0:*'].flatMap((start) => INVERTED.map((low) => start + low)),
]
const OPTION = '--host-resolver-rules='

/**
 * The arguments that keep a browser from resolving any host that the filter refuses by its name or address. If a
 * network is excepted, only the answers tell (`Tab`).
 * @param given the user's arguments: their rules hold, too, since a browser takes only the last argument of a kind
 */
export function hostRules(filter: AddressFilter, given: readonly string[]): string[] {
  const { excepted } = filter
  const addresses = excepted.some((entry) => entry.includes('/')) ? [] : ADDRESSES
  const names = METADATA_NAMES.filter((name) => filter.refusal(name, 80) !== undefined).flatMap((name) => [
    name,
    `${name}.`,
  ])
  const rules = [...addresses, ...names].map((host) => `MAP ${host} ~NOTFOUND`)
  const open = excepted.map(hostOf).filter((host) => isIP(host) > 0)
  const users = given.filter((argument) => argument.startsWith(OPTION)).map((each) => each.slice(OPTION.length))
  return [`${OPTION}${[...rules, ...open.map((host) => `EXCLUDE ${host}`), ...users.slice(-1)].join(',')}`]
}

/** Without its port. */
function hostOf(entry: string): string {
  if (isIP(entry) > 0) return entry
  const [, inBrackets, plain] = /^(?:\[(.+)\]|([^:]+))(?::\d+)?$/.exec(entry) ?? []
  return inBrackets ?? plain ?? entry
}
