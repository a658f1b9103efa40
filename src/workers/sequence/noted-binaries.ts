import { isTrusted } from '../../base/trusted-settings.ts'
import type { BinaryRow, NeededBinary } from '../../db/binaries.ts'

// Rows of programs may be untrusted, too, and the programs in them are run or installed: so the programs that we found,
// and those that hooks have asked for, are noted in the data dir like the settings of its users.
/** The note of a program that was found. */
export const placeNote = (name: string, abspath: string) => ['program', JSON.stringify([name, abspath])] as const
/** The note of a request of ours. */
export const requestNote = ({ name, binproviders, minVersion }: NeededBinary) =>
  ['request', JSON.stringify([name, binproviders, minVersion])] as const

/** Whether a program is where we found it, or where a hook reported it. */
export function isFoundHere(dataDir: string, { name, abspath }: Pick<BinaryRow, 'name' | 'abspath'>): boolean {
  return abspath !== '' && isTrusted(dataDir, ...placeNote(name, abspath))
}
