import { isTrusted } from '../../base/trusted-settings.ts'
import type { BinaryRow, NeededBinary } from '../../db/binaries.ts'

// Rows of programs may come from anybody, too, and what they name is run or installed: what we found, and what hooks
// have asked for, is noted in the data dir as what people set is.
/** What is noted of a program that was found. */
export const placeNote = (name: string, abspath: string) => ['program', JSON.stringify([name, abspath])] as const
/** What is noted of a request of ours. */
export const requestNote = ({ name, binproviders, minVersion }: NeededBinary) =>
  ['request', JSON.stringify([name, binproviders, minVersion])] as const

/** Is a program where we found it, or a hook said that it is? */
export function isFoundHere(dataDir: string, { name, abspath }: Pick<BinaryRow, 'name' | 'abspath'>): boolean {
  return abspath !== '' && isTrusted(dataDir, ...placeNote(name, abspath))
}
