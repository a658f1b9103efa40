import { hash } from 'node:crypto'

/**
 * The root of the hash tree over hex digests, as ArchiveBox defines it: neighbours are joined as hex text and hashed
 * again, an odd last one with itself, until one is left. No digests at all give the hash of nothing.
 */
export function merkleRoot(digests: readonly string[]): string {
  let level = digests
  if (level.length === 0) return hash('sha256', '')
  while (level.length > 1) {
    const next: string[] = []
    for (let i = 0; i < level.length; i += 2) next.push(hash('sha256', level[i]! + (level[i + 1] ?? level[i]!)))
    level = next
  }
  return level[0]!
}
