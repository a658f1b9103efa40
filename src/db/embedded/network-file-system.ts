import { statfsSync } from 'node:fs'

/**
 * File systems of other machines, by the magic number that statfs gives (linux/magic.h): their locks and flushes cannot
 * be trusted.
 */
const NETWORK: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS', // 0xff534d42
  4266872130: 'SMB', // 0xfe534d42
  16914839: '9p',
  1397113167: 'AFS',
  12805120: 'Ceph',
  198183888: 'Lustre',
}

/**
 * The name of the network file system with this magic number; undefined for a local one. Some kernels give the number
 * with a sign.
 */
export function networkFileSystem(magic: number): string | undefined {
  return NETWORK[magic >>> 0]
}

/** The name of the network file system of `dir`; undefined for a local one, and if it cannot be determined. */
export function networkFileSystemOf(dir: string): string | undefined {
  try {
    return networkFileSystem(statfsSync(dir).type)
  } catch {
    return undefined
  }
}
