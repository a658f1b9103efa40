import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../base/errors.ts'
import type { Hook } from '../../hooks/discover.ts'
import type { WorkTree } from '../../hooks/work-tree.ts'

/**
 * Whether a page's hashes cover exactly the files that its plugins have published. They may have been made before.
 * @param hook has made them
 */
export function areOfAllFiles(
  tree: Pick<WorkTree, 'root' | 'filesOf'>,
  { plugin, hashes = '' }: Pick<Hook, 'plugin' | 'hashes'>,
): boolean {
  const { root } = tree
  const hashed = hashedFiles(join(root, plugin, hashes))
  if (!hashed) return false
  const plugins = readdirSync(root, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== plugin,
  )
  // A folder with links, which our own hooks do not create, never counts.
  const files = plugins.flatMap(({ name }) =>
    [...(tree.filesOf(name) ?? [])].map(([path, { size }]) => ({ path: `${name}/${path}`, size })),
  )
  return files.length === hashed.size && files.every(({ path, size }) => hashed.get(path) === size)
}

/** The sizes by path, empty without hashes; undefined: they cannot be read. */
function hashedFiles(file: string): ReadonlyMap<string, number> | undefined {
  try {
    const text = readFileSync(file, 'utf8')
    const { files } = JSON.parse(text) as {
      readonly files: readonly { readonly path: string; readonly size: number }[]
    }
    return new Map(files.map(({ path, size }) => [path, size]))
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? new Map() : undefined
  }
}
