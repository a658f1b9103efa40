import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { endianness } from 'node:os'

/** Where the kernel says whose sockets are connected (proc(5)). */
export const TABLES = '/proc/net'
const ESTABLISHED = '01'

/**
 * Does the other end of a connection on loopback (IPv4) belong to our account? A port on loopback is open to every
 * account of the machine. Undefined: that cannot be known, because there is no /proc.
 * @param tables a folder with `tcp` and `tcp6`
 */
export async function isOwnPeer(socket: Socket, tables = TABLES): Promise<boolean | undefined> {
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  const theirs = placeText(remoteAddress, remotePort)
  const ours = placeText(localAddress, localPort)
  const read = (name: string) => readFile(`${tables}/${name}`, 'latin1').catch(() => undefined)
  const [tcp, tcp6 = ''] = await Promise.all([read('tcp'), read('tcp6')])
  if (tcp === undefined) return undefined
  if (theirs === undefined || ours === undefined) return false
  for (const line of [...tcp.split('\n'), ...tcp6.split('\n')]) {
    const [, local = '', remote = '', state, , , , uid] = line.trim().split(/\s+/)
    // One that its owner has closed is nobody's, and shown as root's.
    if (isAt(local, theirs) && isAt(remote, ours) && state === ESTABLISHED) return Number(uid) === process.geteuid?.()
  }
  return false
}

/** `0100007F:1F90`, as the kernel writes 127.0.0.1:8080 on a little-endian machine; undefined: none of IPv4. */
function placeText(address: string | undefined, port: number | undefined): string | undefined {
  const bytes = address
    ?.replace(/^::ffff:/, '')
    .split('.')
    .map(Number)
  if (bytes?.length !== 4 || port === undefined) return undefined
  return `${hex(endianness() === 'LE' ? bytes.reverse() : bytes, 2)}:${hex([port], 4)}`
}

const hex = (numbers: readonly number[], digits: number) =>
  numbers.map((number) => number.toString(16).toUpperCase().padStart(digits, '0')).join('')

/** A socket of IPv6 that is connected by IPv4 has that address behind these words. */
const MAPPED = `${'0'.repeat(16)}${endianness() === 'LE' ? 'FFFF0000' : '0000FFFF'}`
const isAt = (written: string, place: string) => written === place || written === MAPPED + place
