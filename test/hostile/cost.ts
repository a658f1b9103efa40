import { repeated } from './adversarial.ts'
import type { Parser } from './parsers.ts'

/** Below this, ratios say nothing. */
const LEAST_MS = 20
/** Twice the input takes at most this times the time. */
const MOST = 2.5
/** The noise of a busy machine does not reach that so many times in a row. */
const TRIES = 5
/** No parser takes longer for this many characters, whatever they are. */
const SIZE = 65_536
const LONGEST_MS = 3_000

/** CPU milliseconds of one run; what it throws is its own affair. */
async function costOf(run: Parser['run'], text: string): Promise<number> {
  const before = process.cpuUsage()
  try {
    await run(text)
  } catch {
    // Refused is read, too.
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** Why a parser takes too long for a text made of this piece, in one line; undefined: it does not. */
export async function tooSlow({ name, run }: Parser, piece: string, around: readonly [string, string]) {
  const cost = (size: number) => costOf(run, repeated(piece, size, around))
  const what = `${name} on ${JSON.stringify(around[0] + piece + piece + around[1])}`
  if ((await cost(SIZE / 16)) > LONGEST_MS / 8) return `${what}: ${SIZE / 16} characters take too long`
  let size = SIZE
  let once = await cost(size)
  if (once > LONGEST_MS) return `${what}: ${size} characters take ${Math.round(once)} ms`
  if (once < LEAST_MS) {
    size *= 4
    once = await cost(size)
  }
  if (once < LEAST_MS) return undefined
  const ratios: number[] = []
  for (let tries = 0; tries < TRIES; tries += 1) {
    const one = Math.min(await cost(size), await cost(size))
    const two = Math.min(await cost(2 * size), await cost(2 * size))
    ratios.push(two / one)
    if (two / one <= MOST) return undefined
  }
  return `${what}: twice the input takes ${ratios.map((ratio) => ratio.toFixed(1)).join(', ')} times the time`
}
