import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../base/errors.ts'
import { listTree } from '../../hooks/copy-tree.ts'

const PLUGIN = 'hashes'

/**
 * Whether a page's hashes cover exactly the files that its plugins have published. They may have been made before.
 * @param root the page's folder
 */
export function areOfAllFiles(root: string): boolean {
  const hashed = hashedFiles(root)
  if (!hashed) return false
  const plugins = readdirSync(root, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== PLUGIN,
  )
  // A folder with links, which our own hooks do not create, never counts.
  const files = plugins.flatMap(({ name }) =>
    [...(listTree(join(root, name))?.files ?? [])].map(([path, { size }]) => ({ path: `${name}/${path}`, size })),
  )
  return files.length === hashed.size && files.every(({ path, size }) => hashed.get(path) === size)
}

/** The sizes by path, empty without hashes; undefined: they cannot be read. */
function hashedFiles(root: string): ReadonlyMap<string, number> | undefined {
  try {
    const text = readFileSync(join(root, PLUGIN, 'hashes.json'), 'utf8')
    const { files } = JSON.parse(text) as {
      readonly files: readonly { readonly path: string; readonly size: number }[]
    }
    return new Map(files.map(({ path, size }) => [path, size]))
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? new Map() : undefined
  }
}
