import { isIP } from 'node:net'
import type { AddressFilter } from '../../../base/address-filter.ts'
import { METADATA_NAMES } from '../../../base/private-host.ts'

/** As Chromium writes the addresses that `machineServiceAt` knows (`?` is one character, or none). */
const ADDRESSES = [
  ...['169.254.*', 'fe8?:*', 'fe9?:*', 'fea?:*', 'feb?:*', 'fd00:ec2:*', 'fd20:ce::254', '2002:a9fe:*'],
  ...['100.100.100.200', '192.0.0.192', '168.63.129.16'],
  ...['::', '::ffff:', '::ffff:0:', '64:ff9b::'].flatMap((prefix) =>
    ['a9fe:*', '6464:64c8', 'c000:c0', 'a83f:8110'].map((low) => prefix + low),
  ),
]
const OPTION = '--host-resolver-rules='

/**
 * The arguments with which a browser finds no host that the filter refuses by its name or address. Where a network is
 * excepted, only its answers tell (`Tab`).
 * @param given the user's arguments, of which the browser takes the last one of a kind: their rules hold, too
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
