import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { endianness } from 'node:os'

/** The folder in which the kernel lists the owners of sockets (proc(5)). */
export const TABLES = '/proc/net'
const ESTABLISHED = '01'

/**
 * Whether the other end of a loopback connection (IPv4) belongs to our account: a port on loopback is open to every
 * account of the machine. Undefined: unknown, because there is no /proc.
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
    // A socket that its owner has closed is listed as root's.
    if (isAt(local, theirs) && isAt(remote, ours) && state === ESTABLISHED) return Number(uid) === process.geteuid?.()
  }
  return false
}

/** `0100007F:1F90`, as the kernel writes 127.0.0.1:8080 on a little-endian machine; undefined for other than IPv4. */
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

/** An IPv6 socket that is connected over IPv4 has that address after these words. */
const MAPPED = `${'0'.repeat(16)}${endianness() === 'LE' ? 'FFFF0000' : '0000FFFF'}`
const isAt = (written: string, place: string) => written === place || written === MAPPED + place
