import { Random } from '../soak/random.ts'

/** `npm run nightly` runs everything. A plain run takes a sample where that would take too long. */
export const NIGHTLY = process.env['NIGHTLY'] !== undefined

/** Chooses the sample: the same one each time, unless `SEED=n` sets another. */
export const SEED = Number(process.env['SEED'] ?? 1)

/** All of these at night, otherwise a sample of this size. */
export const sampled = <T>(all: readonly T[], count: number, name: string): T[] =>
  NIGHTLY ? [...all] : sample(all, count, name)

/** A sample of this size, chosen by the seed, in order. `name` keeps one choice from deciding the next. */
export function sample<T>(all: readonly T[], count: number, name: string): T[] {
  const random = new Random(SEED * 7919 + [...name].reduce((sum, char) => Math.imul(sum, 31) + char.charCodeAt(0), 7))
  const left = [...all.keys()]
  const draw = () => left.splice(Math.floor(random.next() * left.length), 1)[0]!
  const chosen = Array.from({ length: Math.min(count, all.length) }, draw)
  return chosen.sort((a, b) => a - b).map((index) => all[index]!)
}
