/**
 * The smallest part of a list that still fails, found by leaving out ever smaller pieces (ddmin, Zeller 1999).
 * @param tries how often `fails` may be asked: each time costs a whole run
 */
export async function shrink<T>(
  all: readonly T[],
  fails: (part: readonly T[]) => Promise<boolean>,
  tries: number,
): Promise<T[]> {
  let smallest = [...all]
  for (let pieces = 2; smallest.length > 1 && tries > 0; ) {
    const size = Math.ceil(smallest.length / pieces)
    let smaller: T[] | undefined
    for (let at = 0; at < smallest.length && !smaller && tries > 0; at += size) {
      const rest = [...smallest.slice(0, at), ...smallest.slice(at + size)]
      tries -= 1
      if (await fails(rest)) smaller = rest
    }
    if (smaller) {
      smallest = smaller
      pieces = Math.max(2, pieces - 1)
    } else if (size === 1) break
    else pieces = Math.min(smallest.length, pieces * 2)
  }
  return smallest
}
