import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { codeOf } from '../base/errors.ts'

const PLUGIN = 'hashes'

/**
 * Are the hashes of a page of just the files that its plugins have published? They may have been taken before that.
 * @param root the page's folder
 */
export function areOfAllFiles(root: string): boolean {
  const hashed = hashedFiles(root)
  const published = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== PLUGIN)
    .flatMap(({ name }) => readdirSync(join(root, name), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
  return (
    published.length === hashed.size &&
    published.every((path) => hashed.get(path) === statSync(join(root, path), { throwIfNoEntry: false })?.size)
  )
}

/** Their sizes by path; none without hashes. */
function hashedFiles(root: string): ReadonlyMap<string, number> {
  try {
    const text = readFileSync(join(root, PLUGIN, 'hashes.json'), 'utf8')
    const { files } = JSON.parse(text) as {
      readonly files: readonly { readonly path: string; readonly size: number }[]
    }
    return new Map(files.map(({ path, size }) => [path, size]))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return new Map()
    throw error
  }
}
