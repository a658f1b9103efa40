/** The word that was most likely meant: at most a third of its letters differ, and at most two. */
export function closest(typed: string, words: readonly string[]): string | undefined {
  const near = words.map((word) => ({ word, distance: distance(typed.toLowerCase(), word.toLowerCase()) }))
  near.sort((a, b) => a.distance - b.distance)
  const best = near[0]
  return best && best.distance <= Math.min(2, Math.floor(best.word.length / 3)) ? best.word : undefined
}

/** The number of letters to insert, delete, change or swap with a neighbour to turn one word into the other. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const ways = [rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (same ? 0 : 1)]
      if (swapped) ways.push(rows[i - 2]![j - 2]! + 1)
      row.push(Math.min(...ways))
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
