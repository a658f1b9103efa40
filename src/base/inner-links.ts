/** An entry of a tree; a link has its target as written. */
export type TreeEntry = 'file' | 'folder' | { readonly link: string }

/** The most path components per link, those of links on its way included. More is a circle, or an attack. */
const MAX_STEPS = 256

/**
 * The links of a tree that lead to one of its files or folders without ever leaving it, with the kind of their target.
 * Decided from the tree alone, so that nothing can change between check and use.
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

/** The end of a link, resolved as the system does; undefined when it leaves the tree, leads nowhere, or in circles. */
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
