import { closeSync, openSync, readSync } from 'node:fs'

/** Enough for some hundred ids. */
const AHEAD = 4_096

let ahead: Buffer = Buffer.alloc(0)

/**
 * Random bytes of the kernel, read from its file, since loading Node's crypto takes a seventh of a start.
 * @param count up to 4,096
 */
export function randomBytes(count: number): Buffer {
  if (ahead.length < count) ahead = fromKernel()
  const bytes = ahead.subarray(0, count)
  ahead = ahead.subarray(count)
  return bytes
}

function fromKernel(): Buffer {
  const bytes = Buffer.alloc(AHEAD)
  const file = openSync('/dev/urandom', 'r')
  try {
    // Reads of up to 256 bytes are never cut short, longer ones by signals.
    for (let filled = 0; filled < AHEAD; ) filled += readSync(file, bytes, filled, AHEAD - filled, null)
    return bytes
  } finally {
    closeSync(file)
  }
}
