import { readFileSync } from 'node:fs'

const USUAL_BYTES = 4096
/** The type of the entry with the page size, in what the kernel passes to a program at its start (getauxval). */
const AT_PAGESZ = 6n
let known: number | undefined

/** The size of a page of memory, the unit of /proc: 4 kB, but 16 or 64 on some kernels for ARM. */
export function memoryPageBytes(): number {
  known ??= pageBytesIn(auxiliary())
  return known
}

/** @param auxv pairs of 64-bit numbers, type and value, in the byte order of the machine */
export function pageBytesIn(auxv: Uint8Array): number {
  const numbers = new BigUint64Array(auxv.slice().buffer, 0, Math.floor(auxv.length / 8))
  for (let at = 0; at + 1 < numbers.length; at += 2) if (numbers[at] === AT_PAGESZ) return Number(numbers[at + 1])
  return USUAL_BYTES
}

function auxiliary(): Uint8Array {
  try {
    return new Uint8Array(readFileSync('/proc/self/auxv'))
  } catch {
    return new Uint8Array() // No /proc, or out of descriptors.
  }
}
