/** What stands at a path of a tree; a link with its target, as it is written in it. */
export type TreeEntry = 'file' | 'folder' | { readonly link: string }

/** Names on the way of one link, those of links that it leads through included. More is no honest link, or a circle. */
const MAX_STEPS = 256

/**
 * The links of a tree that lead to one of its files or folders without ever leaving it, not even to come back, and
 * which of both is there. Decided by what is in the tree alone, so that nothing changes between look and use.
 * @param tree by path below its root, with every folder on the way
 */
export function innerLinks(tree: ReadonlyMap<string, TreeEntry>): Map<string, 'file' | 'folder'> {
  const inner = new Map<string, 'file' | 'folder'>()
  for (const [path, entry] of tree) {
    const end = typeof entry === 'object' ? endOf(tree, path) : undefined
    if (end) inner.set(path, end)
  }
  return inner
}

/**
 * Where the way of a link ends, walked as the system does; undefined when it leaves the tree, leads to nothing, or in
 * circles.
 */
function endOf(tree: ReadonlyMap<string, TreeEntry>, link: string): 'file' | 'folder' | undefined {
  let folder = parentOf(link)
  const ahead = [link.slice(folder === '' ? 0 : folder.length + 1)]
  for (let steps = 0; ahead.length > 0; steps += 1) {
    const step = ahead.pop()!
    if (steps > MAX_STEPS || (step === '..' && folder === '')) return undefined
    if (step === '..') folder = parentOf(folder)
    if (['', '.', '..'].includes(step)) continue
    const path = folder === '' ? step : `${folder}/${step}`
    const entry = tree.get(path)
    if (entry === undefined || (entry === 'file' && ahead.length > 0)) return undefined
    if (entry === 'file') return 'file'
    if (entry === 'folder') folder = path
    else if (entry.link.startsWith('/') || entry.link.length > MAX_STEPS * 16) return undefined
    else ahead.push(...entry.link.split('/').reverse())
  }
  return 'folder'
}

const parentOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('/')))
