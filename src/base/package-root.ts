import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** The folder of this code, up to `dist` (built) or `src`. */
function codeRoot(): string {
  let folder = import.meta.dirname
  while (!['dist', 'src'].includes(basename(folder)) || !existsSync(join(dirname(folder), 'package.json'))) {
    const up = dirname(folder)
    if (up === folder) throw new Error(`cannot find the program's own files above ${import.meta.dirname}`)
    folder = up
  }
  return folder
}

/** The path of a file or folder that ships with the code: `built` below dist/, or `source` below src/. */
export function asset(built: string, source: string): string {
  const root = codeRoot()
  return join(root, basename(root) === 'dist' ? built : source)
}
